from __future__ import annotations

import pytest

from fxstore.render.bundle import join

TWO = {
    "main.js": 'import { one,\n  two } from "./parts.js";\n\nexport class Main {}\none(two);\n',
    "parts.js": "export function one() {}\nexport const two = 2;\n",
}


def test_modules_join_in_the_order_of_their_imports_without_imports_and_exports() -> None:
    script = join("main.js", TWO.__getitem__)
    assert script.index("function one") < script.index("class Main")
    assert "import" not in script
    assert "export" not in script


def test_a_module_imported_twice_stands_once() -> None:
    modules = TWO | {"main.js": 'import { one } from "./parts.js";\nimport { other } from "./other.js";\n'}
    modules["other.js"] = 'import { two } from "./parts.js";\nexport const other = two;\n'
    assert join("main.js", modules.__getitem__).count("function one") == 1


def test_a_browser_need_not_read_comments_and_indents() -> None:
    text = "// one\nexport function one() {\n  // two\n  /** three\n   * four */\n  return /** five */ (6); // 7\n}\n"
    script = join("one.js", lambda _: text)
    assert script == "// one.js\nfunction one() {\nreturn /** five */ (6); // 7\n}\n"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"main.js": TWO["main.js"] + "function one() {}\n"}, "both declare one"),
        ({"main.js": TWO["main.js"] + "async function one() {}\n"}, "both declare one"),
        ({"parts.js": "export function one() {}\n"}, "does not export: two"),
        ({"parts.js": 'import { Main } from "./main.js";\n' + TWO["parts.js"]}, "import each other"),
        ({"parts.js": TWO["parts.js"] + "export default one;\n"}, "cannot join"),
        ({"parts.js": 'import * as x from "./main.js";\n' + TWO["parts.js"]}, "cannot join"),
        ({"parts.js": TWO["parts.js"] + "const { a, b } = one();\n"}, "one plain name"),
        ({"parts.js": TWO["parts.js"] + "one('</SCRIPT>');\n"}, "not safe inside a script"),
    ],
)
def test_what_a_plain_joiner_cannot_do_is_an_error(changed: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        join("main.js", (TWO | changed).__getitem__)
