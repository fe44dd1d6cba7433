"""What a model is given of each kind of file, and why of some it is given nothing."""

import io

import pytest
from PIL import Image

from gateway.features.files.reading import ReadLimits
from gateway.features.files.worker.limits import Found, NotRead
from gateway.features.files.worker.main import read_file
from tests.fakes.documents import LAUGHS, archive, cell, pdf, picture, pixel_bomb, sheet, word


def read(data: bytes, media_type: str = "", **limits: int) -> tuple[str, Found]:
    found = Found(ReadLimits(**limits, cpu_s=100_000))
    return read_file(data, media_type, found), found


def text_of(data: bytes, media_type: str = "", **limits: int) -> str:
    _, found = read(data, media_type, **limits)
    ((kind, content, _),) = found.parts
    assert kind == "text"
    return content.decode()


def refusal(data: bytes, media_type: str = "", **limits: int) -> str:
    with pytest.raises(NotRead) as refused:
        read(data, media_type, **limits)
    return refused.value.key


def shown(data: bytes) -> Image.Image:
    _, found = read(data)
    ((kind, content, _),) = found.parts
    assert kind == "image"
    made = Image.open(io.BytesIO(content))
    assert made.format == "JPEG"
    return made


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF"])
def test_a_picture_of_any_kind_becomes_jpeg_of_its_size(kind: str) -> None:
    assert shown(picture(40, 30, kind=kind)).size == (40, 30)


def test_a_picture_is_turned_as_the_camera_says_and_loses_what_else_the_camera_wrote() -> None:
    turned = shown(picture(40, 30, turned=6))
    assert turned.size == (30, 40)
    assert not turned.getexif()


@pytest.mark.parametrize("turned", [1, 6])
def test_a_large_picture_is_scaled_down(turned: int) -> None:
    assert max(shown(picture(4000, 1000, turned=turned)).size) == 1568


@pytest.mark.parametrize("mode", ["RGBA", "P", "L", "LA", "1", "I;16", "CMYK"])
def test_a_picture_in_any_colours_is_shown_in_three(mode: str) -> None:
    kind = "TIFF" if mode == "CMYK" else "PNG"
    assert shown(picture(20, 20, kind=kind, mode=mode)).mode == "RGB"


def test_what_can_be_seen_through_lies_on_white() -> None:
    assert shown(picture(20, 20, kind="PNG", mode="RGBA")).getpixel((5, 5)) == (255, 255, 255)


def test_billions_of_pixels_are_not_decoded() -> None:
    assert refusal(pixel_bomb()) == "too_many_pixels"


@pytest.mark.parametrize("data", [b"\xff\xd8\xff nothing", picture()[:200], b"GIF89a", b"BM", b"II*\0\1"])
def test_a_damaged_picture_is_refused(data: bytes) -> None:
    assert refusal(data) == "broken_picture"


def test_what_is_said_of_a_file_counts_for_nothing() -> None:
    assert read(picture(kind="PNG"), "text/plain")[0] == "image/png"
    assert read(b"a;b", "application/x-anything")[0] == "text/plain"
    assert refusal(b"just words", "image/jpeg") == "broken_picture"
    assert refusal(b"just words", "application/pdf") == "broken_document"


def test_a_pdf_is_its_text_with_page_numbers() -> None:
    assert text_of(pdf(["Hello from one", "Hello from two"])) == "[page 1]\nHello from one\n[page 2]\nHello from two"


def test_a_page_without_text_is_a_picture_with_its_number() -> None:
    _, found = read(pdf(["Hello from one", ""]))
    assert [(kind, page) for kind, _, page in found.parts] == [("image", 2), ("text", 0)]
    assert b"[page 2]\n(no text; see its picture)" in found.parts[1][1]


def test_only_some_of_many_pages_without_text_are_shown() -> None:
    _, found = read(pdf([""], copies=9), pictures=2)
    assert [kind for kind, _, _ in found.parts] == ["image", "image", "text"]
    assert found.remarks == [("cut_pictures", {"pages": 9, "read": 2})]


def test_ten_thousand_pages_are_read_as_far_as_the_limit_goes() -> None:
    _, found = read(pdf(["Hello from here"], copies=10_000), pages=50)
    assert found.remarks == [("cut_pages", {"pages": 10_000, "read": 50})]
    assert found.parts[0][1].count(b"[page ") == 50


def test_a_long_pdf_is_cut_at_the_limit_of_its_text() -> None:
    _, found = read(pdf(["Hello from here"], copies=20), text_chars=40)
    assert found.remarks == [("cut_pages", {"pages": 20, "read": 3})]


@pytest.mark.parametrize("data", [b"%PDF-1.7 nonsense", pdf(["Hello from one"])[:300]])
def test_a_damaged_pdf_is_refused(data: bytes) -> None:
    assert refusal(data) == "broken_document"


def test_a_pdf_behind_a_password_is_refused_as_such() -> None:
    key = "00" * 32
    lock = f"/Encrypt << /Filter /Standard /V 1 /R 2 /O <{key}> /U <{key}> /P -4 >> /ID [<00> <00>]"
    assert refusal(pdf(["Hello from one"], trailer=lock)) == "locked"


def test_a_word_document_is_its_paragraphs_and_tables() -> None:
    row = f"<w:tr>{cell('Beans')}{cell('3')}</w:tr>"
    table = f"<w:tbl>{row}<w:tr>{cell('Rice')}{cell('5')}</w:tr></w:tbl>"
    assert text_of(word("Dear Ada,", "see below.", body=table)).split("\n") == [
        "Dear Ada,",
        "see below.",
        "Beans \t3 \t",
        "Rice \t5",
    ]


def test_an_excel_sheet_is_its_rows_with_dates_as_dates_and_empty_cells_in_their_place() -> None:
    rows = (
        '<row><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>Paid</t></is></c></row>'
        '<row><c r="A2"><v>42.5</v></c><c r="B2" s="1"><v>46000</v></c><c r="C2" t="b"><v>1</v></c></row>'
    )
    assert text_of(sheet(rows, shared=["Amount"])) == "[sheet Costs]\nAmount\t\tPaid\n42.5\t2025-12-09\tTRUE"


def test_slides_are_read_in_their_order() -> None:
    slide = '<p:sld xmlns:p="p" xmlns:a="a"><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:sld>'
    entries = {f"ppt/slides/slide{n}.xml": slide.format(f"Slide number {n}") for n in (10, 2, 1)}
    text = text_of(archive({"ppt/presentation.xml": "<p/>", **entries}))
    assert text == "[slide 1]\nSlide number 1\n[slide 2]\nSlide number 2\n[slide 10]\nSlide number 10"


def test_an_open_document_is_its_text() -> None:
    content = (
        '<office:d xmlns:office="o" xmlns:text="t" xmlns:table="b"><text:h>Plan</text:h>'
        "<text:p>Go <text:span>north</text:span> now</text:p><table:table-row><table:table-cell><text:p>a</text:p>"
        "</table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></office:d>"
    )
    kind = "application/vnd.oasis.opendocument.text"
    data = archive({"mimetype": kind, "content.xml": content})
    assert read(data)[0] == kind
    assert text_of(data).split("\n") == ["Plan", "Go north now", "a \tb"]


def test_macros_are_named_and_left_alone() -> None:
    _, found = read(word("Hello", more={"word/vbaProject.bin": b"\0evil"}))
    assert found.remarks == [("macros", {})]
    assert found.parts[0][1] == b"Hello"


def test_a_document_that_unpacks_without_end_is_a_bomb() -> None:
    assert refusal(word("x" * 3_000_000), unpacked_bytes=1_000_000) == "bomb"


def test_entities_that_multiply_are_refused() -> None:
    assert refusal(word("&a9;", before=LAUGHS)) == "broken_document"


def test_entities_of_the_outside_are_not_fetched() -> None:
    outside = '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    with pytest.raises(NotRead):
        read(word("&x;", before=outside))


def test_names_in_an_archive_lead_nowhere() -> None:
    assert text_of(word("Hello", more={"../../etc/passwd": b"x", "/abs": b"y"})) == "Hello"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (archive({"a.txt": "hello"}), "archive"),
        (b"\x1f\x8b\x08 packed", "archive"),
        (b"PK\x03\x04 torn", "broken_document"),
        (word("x")[:120], "broken_document"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 old", "old_office"),
        (b"MZ\x90\0\x03\0\0\0\x04\0", "program"),
        (b"\x7fELF\x02\x01\x01\0\0\0", "program"),
        (b"\0\0\0\x18ftypheic\0\0\0\0", "heif"),
        (bytes(range(256)) * 4, "unknown_kind"),
        (b"", "empty"),
        (word(), "empty_document"),
    ],
)
def test_what_is_not_read_has_its_reason(data: bytes, why: str) -> None:
    assert refusal(data) == why


@pytest.mark.parametrize(
    ("data", "claimed", "kind"),
    [
        (b"OggS\0\x02", "audio/ogg", "audio/ogg"),
        (b"\0\0\0\x18ftypisom", "video/mp4", "video/mp4"),
        (b"\x01\x02\x03\xff\xfe" * 20, "audio/amr", "audio/amr"),
    ],
)
def test_sound_and_film_are_named_and_not_read(data: bytes, claimed: str, kind: str) -> None:
    media_type, found = read(data, claimed)
    assert (media_type, found.parts, found.remarks) == (kind, [], [])


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfGr\xc3\xbc\xc3\x9fe", "Grüße"),
        (b"Gr\xfc\xdfe", "Grüße"),
        ("Grüße".encode("utf-16"), "Grüße"),
        (b"def f():\n\treturn 1\n", "def f():\n\treturn 1\n"),
    ],
)
def test_text_is_read_in_the_common_encodings(data: bytes, text: str) -> None:
    assert text_of(data) == text


def test_a_long_text_is_cut_and_says_so() -> None:
    _, found = read(b"x" * 30, text_chars=10)
    assert found.parts[0][1].decode() == "xxxxxxxxxx\n… (cut: 10 of 30 characters)"
    assert found.remarks == [("cut_text", {"chars": 10, "all": 30})]
