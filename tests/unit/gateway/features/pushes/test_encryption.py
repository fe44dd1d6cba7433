"""Web Push by the standards, and where pushes may go."""

from datetime import UTC, datetime

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec

from gateway.features.pushes.encryption import PushKey, check_keys, sealed
from gateway.features.pushes.keys import BadSubscription
from gateway.features.pushes.subscriptions import is_service
from tests.fakes.pages.push_service import PushedBrowser, claims, decode

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_the_browser_of_the_tests_reads_the_example_of_the_standard() -> None:
    private = int.from_bytes(decode("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"), "big")
    browser = PushedBrowser("BTBZMqHH6r4Tts7J_aSIgg", ec.derive_private_key(private, ec.SECP256R1()))
    body = (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_"
        "yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )
    assert browser.read(decode(body)) == b"When I grow up, I want to be a watermelon"


def test_what_is_sealed_is_read_by_the_browser_and_by_no_other() -> None:
    browser = PushedBrowser()
    body = sealed("Grüße".encode(), browser.p256dh, browser.auth)
    assert browser.read(body).decode() == "Grüße"
    assert b"Gr" not in body
    with pytest.raises(InvalidTag):
        PushedBrowser().read(body)
    assert sealed(b"x", browser.p256dh, browser.auth) != sealed(b"x", browser.p256dh, browser.auth)


def test_the_key_is_kept_as_a_text_and_signs_who_sends() -> None:
    key = PushKey.new()
    same = PushKey.read(key.text)
    assert same.public == key.public
    claimed = claims(same.authorization("https://fcm.googleapis.com", "https://chat.example.org", NOW))
    assert claimed == {
        "aud": "https://fcm.googleapis.com",
        "exp": int(NOW.timestamp()) + 12 * 3600,
        "sub": "https://chat.example.org",
        "key": key.public,
    }


@pytest.mark.parametrize(
    ("p256dh", "auth"),
    [
        ("", ""),
        ("AAAA", PushedBrowser.auth),
        (PushedBrowser().p256dh, "AAAA"),
        ("B" + "A" * 86, PushedBrowser.auth),
        ("ü", "ü"),
        (PushedBrowser().p256dh, "!" * 22),
    ],
    ids=["nothing", "no point", "no secret", "a point elsewhere", "letters", "signs"],
)
def test_what_are_no_keys_is_refused(p256dh: str, auth: str) -> None:
    with pytest.raises(BadSubscription):
        check_keys(p256dh, auth)


@pytest.mark.parametrize(
    ("endpoint", "is_one"),
    [
        ("https://fcm.googleapis.com/fcm/send/abc", True),
        ("https://updates.push.services.mozilla.com/wpush/v2/abc", True),
        ("https://web.push.apple.com/abc", True),
        ("https://wns2-db5p.notify.windows.com/w/?token=abc", True),
        ("https://fcm.googleapis.com:443/x", True),
        ("http://fcm.googleapis.com/x", False),
        ("https://fcm.googleapis.com:8443/x", False),
        ("https://fcm.googleapis.com.evil.example/x", False),
        ("https://evilfcm.googleapis.com/x", False),
        ("https://user@fcm.googleapis.com/x", False),
        ("https://fcm.googleapis.com@169.254.169.254/x", False),
        ("https://169.254.169.254/latest/meta-data", False),
        ("https://localhost/x", False),
        ("https://[::1]/x", False),
        ("https://fcm.googleapis.com\\@evil.example/x", False),
        ("https://ﬁcm.googleapis.com/x", False),
        ("https://fcm.googleapis.com/" + "x" * 1000, False),
        ("https://fcm.googleapis.com:x/", False),
        ("https://fcm.googleapis.com/\x00", False),
        ("https://fcm.googleapis.com/\ud800", False),
        ("https://fcm.googleapis.com/\u200b", False),
        ("file:///etc/passwd", False),
        ("", False),
    ],
)
def test_only_the_push_services_of_browsers_are_sent_anything(endpoint: str, is_one: bool) -> None:
    assert is_service(endpoint) is is_one
