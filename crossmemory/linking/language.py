"""The language a connected person is talked to in."""

from django.conf import settings
from django.utils import translation

from crossmemory import db
from crossmemory.linking.links import links
from crossmemory.models import Preference, SurfaceLink


def speak(link: SurfaceLink, language: str) -> None:
    """The person chose a language: for this account, and as their preference everywhere."""
    links().filter(pk=link.pk).update(language=language)
    link.language = language
    using = db.write_alias(Preference)
    Preference.objects.using(using).update_or_create(
        user_id=link.user_id, tenant=link.tenant, defaults={"language": language}
    )


def language_of(code: str) -> str:
    """The site's language that suits a platform's language code (IETF tag, or nothing)."""
    try:
        return translation.get_supported_language_variant(code.lower()) if code else settings.LANGUAGE_CODE
    except LookupError:
        return settings.LANGUAGE_CODE


def prefer(link: SurfaceLink) -> None:
    """A person who never chose a language is talked to in the one their outside account has."""
    language = language_of(link.language)
    if language == settings.LANGUAGE_CODE:
        return
    rows = Preference.objects.using(db.write_alias(Preference))
    preference, made = rows.get_or_create(user_id=link.user_id, tenant=link.tenant, defaults={"language": language})
    if not made and not preference.language:
        rows.filter(pk=preference.pk).update(language=language)
