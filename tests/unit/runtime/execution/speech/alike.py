"""Texts whose parts are alike, so that one place in them is easily taken for another one."""

TEXTS = {
    "refrains": "\n\n".join(
        f"Day {day} on the river is as long as the sea is wide.\n"
        "La la la, the river runs down.\nLa la la, and it never rests."
        for day in range(1, 5)
    ),
    "numbered lines": "\n".join(f"Answer line {number} of 20." for number in range(1, 21)),
    "list": "\n".join(
        f"{number}. Take the {colour} one and put it on the table."
        for number, colour in enumerate(["red", "blue", "green", "red", "blue", "green", "red"], 1)
    ),
    "table": "| name | ok |\n|---|---|\n" + "\n".join(f"| row {number} | yes |" for number in range(1, 15)),
    "code": "This is all:\n\n```python\n"
    + "x = f(x)\n" * 6
    + "for a in b:\n    if a:\n        x = f(x)\n        x = f(x)\n```\n\nThat is all. It ends.",
    "one word again and again": "Yes.\n" * 8 + "No.",
    "prose": "The river rises in the hills behind the old mill, and from there it runs down to the sea, which it "
    "reaches after nine days. It is long. It is wide. The sea is deep, and the mill is old.\n\n## The mill\n\n"
    "The mill is old.",
    "without blanks": "水は低きに流れる。川は海に流れる。水は低きに流れる。風は山から吹く。水は低きに流れる。終わり。",
}
"""By what is alike in them."""

IN_A_ROW = [TEXTS["code"], TEXTS["one word again and again"]]
"""Those that have the same words several times in a row: nobody can tell whether a reply repeats them."""
