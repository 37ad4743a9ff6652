"""A credential's name in thirteen languages beside a value that is no word."""

import pytest

from guard import screen

TOLD = {
    "marmot!Quay71": "The router upstairs takes marmot!Quay71 as its password.",
    "Kiesel-Bach4": "Das Kennwort vom Server heißt jetzt Kiesel-Bach4, bitte merken.",
    "Brume_2031x": "Utilise Brume_2031x comme mot de passe.",
    "n1ebla!Sur": "He cambiado la contraseña del servidor a n1ebla!Sur",
    "gabbiano81": "Utente: luca, password: gabbiano81",
    "Cajueiro#31": "Minha senha do email é Cajueiro#31, guarda aí.",
    "Molen_88x": "Gebruik Molen_88x als wachtwoord.",
    "Tuman!1979": "Мой пароль от почты Tuman!1979, запомни",
    "mroz-Zima42": "Zmieniłem hasło serwera na mroz-Zima42",
    "leylek47": "Kullanıcı: ali, parola: leylek47",
    "panda#66": "用户名zhangsan 密码panda#66",
    "kaze-Kita77": "ユーザー名はtanaka、パスワードはkaze-Kita77",
    "horangi63": "아이디: minsu, 비번: horangi63",
    "bluebird": "the wifi password is bluebird",
    "tournesol": "Le mot de passe du wifi est tournesol.",
    "haebaragi": "와이파이 비밀번호는 haebaragi입니다.",
    "6620": "El PIN de la alarma es 6620",
    "seven amber goats dancing": "passphrase of the backup drive: seven amber goats dancing",
}


@pytest.mark.parametrize("secret", TOLD)
def test_a_told_secret_is_redacted(secret: str) -> None:
    assert secret not in screen(TOLD[secret], "user", "memory").text


@pytest.mark.parametrize(
    "text",
    [
        "I forgot my password and had to reset it twice in 2023.", "My password is stored in Bitwarden.",
        "Das WLAN-Passwort steht auf dem Kühlschrank.", "Le mot de passe est incorrect", "La clave es obligatoria.",
        "La password è scaduta.", "A senha deve ter 12 caracteres.", "Het wachtwoord is verlopen.", "Пароль неверный.",
        "Ключ к успеху — терпение.", "Hasło wygasło.", "Parolalar en az 12 karakter olmalı.", "パスワードは必須です。",
        "비밀번호는 12자 이상이어야 합니다.", "密码至少需要12个字符", "Passwords must have at least 12 characters.",
        "getpasswd 1000", "hash(password, 'rot13')", "New password (again)", "Use WPA2-PSK with a long password.",
        "The code for the parser is in src/parser2.py", "--password PASSWORD",
        "Single-pass extraction → deduplication → storage",
        "user 550e8400-e29b-41d4-a716-446655440000 changed their password at 2026-11-20T10:03:22Z",
        "Our pass rate is 87.5% this year",
    ],
)  # fmt: skip
def test_talk_about_credentials_passes(text: str) -> None:
    assert screen(text, "user", "memory").text == text


_UUID = "7c1b52e0-94d3-4f0a-8a6e-2f51c0d7b9a4"


@pytest.mark.parametrize(
    "text",
    [
        f"All tests pass. ({_UUID}#b3d1a6c2-0000-4000-8000-000000000026)",
        f"The token counts are right now. ({_UUID}#m4)",
        f"Conclusion: the tests pass on CI now.\n  Sources: {_UUID}#m4 · Origin: agent",
        "Lesson: the tests pass only with commit 9f8e7d6c5b4a39281706f5e4d3c2b1a098765432.",
    ],
)
def test_an_id_or_a_field_behind_the_name_of_a_credential_is_no_secret(text: str) -> None:
    assert screen(text, "agent", "daily").text == text


@pytest.mark.parametrize("value", ["9f8e7d6c5b4a39281706f5e4d3c2b1a0"])
def test_an_id_that_is_told_as_a_credential_is_one(value: str) -> None:
    assert value not in screen(f"the api key is {value}", "user", "memory").text
