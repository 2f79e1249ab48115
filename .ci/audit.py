"""Looks for known vulnerabilities of the pinned packages, as far as this machine reaches who knows them."""

import json
import subprocess
import sys

AUDIT = [sys.executable, "-m", "pip_audit", "-r", "constraints.txt", "--no-deps", "--disable-pip", "-f", "json"]
done = subprocess.run(AUDIT, capture_output=True, text=True, check=False)
try:
    packages = json.loads(done.stdout)["dependencies"]
except ValueError:
    sys.exit(f"pip-audit failed: {done.stderr[-2000:]}")
known = [package for package in packages if "vulns" in package]
found = [package for package in known if package["vulns"]]
for package in found:
    for one in package["vulns"]:
        print(
            f"{package['name']} {package['version']}: {one['id']}, mended in {', '.join(one['fix_versions']) or 'none'}"
        )
print(
    f"{len(known)} of {len(packages)} packages audited"
    + ("" if known else ": the service that knows is not reached from here")
)
sys.exit(bool(found))
