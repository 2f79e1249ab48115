// Reads a graph of ELK's JSON from standard input, lays it out, and writes it with the CPU seconds taken.
const ELK = require(process.argv[2]);
const graph = JSON.parse(require("fs").readFileSync(0, "utf8"));
const before = process.cpuUsage();
new ELK().layout(graph).then((made) => {
  const { user, system } = process.cpuUsage(before);
  process.stdout.write(JSON.stringify({ ...made, seconds: (user + system) / 1e6 }));
});
