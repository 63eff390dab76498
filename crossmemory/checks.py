"""System checks: a wrong setting is named at start-up, with what to do about it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.conf import settings as django_settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Info, Warning
from django.core.files.storage import FileSystemStorage, storages
from django.db import connections
from django.utils.module_loading import import_string

from crossmemory import budget
from crossmemory.agents import agents
from crossmemory.backends import Aliases
from crossmemory.conf import Settings, primary_surface, settings
from crossmemory.exceptions import Misconfigured
from crossmemory.memory.limits import NAMES, PLACEMENTS
from crossmemory.memory.searching import index
from crossmemory.surfaces import surfaces

_VENDORS = ("sqlite3", "postgresql", "postgis", "spatialite")
_MEMORY = "crossmemory.E015"
_BUDGET = "crossmemory.E016"


def register() -> None:
    """Called when the app is ready."""
    checks.register(check_settings, "crossmemory")
    checks.register(check_aliases, "crossmemory")
    checks.register(check_database, "crossmemory")
    checks.register(check_search, checks.Tags.database)


def check_settings(app_configs: Any, **_: Any) -> list[CheckMessage]:
    """Names, values and dotted paths."""
    site = getattr(django_settings, "CROSSMEMORY", {})
    if not isinstance(site, Mapping):
        return [Error("CROSSMEMORY must be a dict.", id="crossmemory.E001")]
    found: list[CheckMessage] = [
        Error(
            f"CROSSMEMORY has no setting {name!r}.",
            hint=f"It has: {', '.join(sorted(Settings.names()))}.",
            id="crossmemory.E001",
        )
        for name in sorted(set(site) - Settings.names())
    ]
    if not django_settings.USE_TZ:
        found.append(
            Error("crossmemory needs USE_TZ = True.", hint="Memory is a window in aware time.", id="crossmemory.E003")
        )
    if settings.ATTACHMENT_STORAGE not in django_settings.STORAGES:
        found.append(
            Error(
                f"CROSSMEMORY['ATTACHMENT_STORAGE'] is {settings.ATTACHMENT_STORAGE!r}, which STORAGES does not have.",
                hint=f"One of: {', '.join(sorted(django_settings.STORAGES))}.",
                id="crossmemory.E010",
            )
        )
    elif not django_settings.MEDIA_ROOT and isinstance(storages[settings.ATTACHMENT_STORAGE], FileSystemStorage):
        found.append(
            Warning(
                "Files that people send are kept in the directory that the server was started in.",
                hint="Set MEDIA_ROOT, or name another storage in CROSSMEMORY['ATTACHMENT_STORAGE'].",
                id="crossmemory.W003",
            )
        )
    for name in ("TENANT", "TOKEN_COUNTER", "DESCRIBER"):
        if (path := getattr(settings, name)) is not None:
            try:
                import_string(path)
            except ImportError as error:
                found.append(Error(f"CROSSMEMORY[{name!r}]: {error}", hint="A dotted path.", id="crossmemory.E005"))
    if settings.PLACEMENT not in PLACEMENTS:
        found.append(
            Error(
                f"CROSSMEMORY['PLACEMENT'] is {settings.PLACEMENT!r}.",
                hint=f"One of: {', '.join(PLACEMENTS)}.",
                id="crossmemory.E007",
            )
        )
    return found


def check_aliases(app_configs: Any, **_: Any) -> list[CheckMessage]:
    """Agents and surfaces, each by its own check."""
    found: list[CheckMessage] = []
    for setting, aliases in (("AGENTS", agents), ("SURFACES", surfaces)):
        found += _each(setting, aliases)
    found += _check_allowed()
    found += _check_memory()
    found += _check_budgets()
    if primary_surface() not in surfaces:
        found.append(
            Error(
                f"CROSSMEMORY['SURFACES'] has no {primary_surface()!r}.",
                hint='Add "web": {"BACKEND": "crossmemory.surfaces.web.WebSurface"}.',
                id="crossmemory.E008",
            )
        )
    for alias in surfaces:
        try:
            surface = surfaces[alias]
        except Misconfigured:
            continue
        if surface.agent not in agents:
            found.append(
                Error(
                    f"SURFACES[{alias!r}] talks to the agent {surface.agent!r}, which AGENTS does not have.",
                    hint="Name one of AGENTS in its OPTIONS.",
                    id="crossmemory.E009",
                )
            )
    return found


def _each(setting: str, aliases: Aliases[Any]) -> Iterator[CheckMessage]:
    for alias in aliases:
        try:
            yield from aliases[alias].check()
        except (Misconfigured, TypeError) as error:
            yield Error(str(error), hint="BACKEND is a dotted path; OPTIONS are its arguments.", id="crossmemory.E002")


def _check_allowed() -> Iterator[CheckMessage]:
    """Nobody is let in by a predicate that is not there: that is told at the start, and not by every person."""
    for alias, entry in settings.AGENTS.items():
        path = entry.get("ALLOWED")
        try:
            allowed = import_string(path) if isinstance(path, str) else path
        except ImportError as error:
            yield Error(f"AGENTS[{alias!r}]['ALLOWED']: {error}", hint="A dotted path.", id="crossmemory.E014")
            continue
        if allowed is not None and not callable(allowed):
            yield Error(f"AGENTS[{alias!r}]['ALLOWED']: {path} is not callable.", id="crossmemory.E014")


def _check_memory() -> Iterator[CheckMessage]:
    """What an agent or a surface says about memory otherwise than the site."""
    for setting, entries in (("AGENTS", settings.AGENTS), ("SURFACES", settings.SURFACES)):
        for alias, entry in entries.items():
            where, said = f"{setting}[{alias!r}]['MEMORY']", entry.get("MEMORY", {})
            if unknown := sorted(set(said) - set(NAMES)):
                yield Error(f"{where} has {', '.join(unknown)}.", hint=f"It may have: {', '.join(NAMES)}.", id=_MEMORY)
            if said.get("PLACEMENT", "merged") not in PLACEMENTS:
                yield Error(f"{where}: {said['PLACEMENT']!r}.", hint=f"One of: {', '.join(PLACEMENTS)}.", id=_MEMORY)
            if (counter := said.get("TOKEN_COUNTER")) is not None:
                try:
                    import_string(counter)
                except ImportError as error:
                    yield Error(f"{where}: {error}", hint="A dotted path.", id=_MEMORY)


def _check_budgets() -> Iterator[CheckMessage]:
    """A limit that is no number would limit nothing."""
    site = {name: getattr(settings, name) for name in budget.NAMES}
    places = [("CROSSMEMORY", site)]
    places += [(f"AGENTS[{alias!r}]['BUDGET']", entry.get("BUDGET", {})) for alias, entry in settings.AGENTS.items()]
    for where, said in places:
        if unknown := sorted(set(said) - set(budget.NAMES)):
            hint = f"It may have: {', '.join(budget.NAMES)}."
            yield Error(f"{where} has {', '.join(unknown)}.", hint=hint, id=_BUDGET)
        for name in budget.NAMES:
            if said.get(name) is not None and not budget.is_limit(said[name]):
                hint = "A number above 0, or None for no limit."
                yield Error(f"{where}: {name} is {said[name]!r}.", hint=hint, id=_BUDGET)


def check_database(app_configs: Any, **_: Any) -> list[CheckMessage]:
    """The databases that the log's promises hold on, set up so that they hold."""
    found: list[CheckMessage] = []
    for alias, database in django_settings.DATABASES.items():
        vendor = str(database.get("ENGINE", "")).rpartition(".")[2]
        options = database.get("OPTIONS", {})
        if vendor not in _VENDORS:
            if alias == "default":
                found.append(
                    Error(
                        f"DATABASES[{alias!r}] is {vendor!r}.",
                        hint="crossmemory runs on PostgreSQL and SQLite.",
                        id="crossmemory.E004",
                    )
                )
        elif vendor in ("sqlite3", "spatialite"):
            if str(options.get("transaction_mode", "")).upper() != "IMMEDIATE":
                found.append(
                    Warning(
                        f"DATABASES[{alias!r}]: writers that meet fail with “database is locked”.",
                        hint='OPTIONS: {"transaction_mode": "IMMEDIATE", "timeout": 20,'
                        ' "init_command": "PRAGMA journal_mode=WAL;"}.',
                        id="crossmemory.W001",
                    )
                )
        elif database.get("CONN_MAX_AGE", 0) == 0 and not options.get("pool"):
            found.append(
                Warning(
                    f"DATABASES[{alias!r}]: every read of an attached client connects anew.",
                    hint='Set CONN_MAX_AGE, or OPTIONS["pool"].',
                    id="crossmemory.W002",
                )
            )
    return found + _check_channel_layer()


def check_search(app_configs: Any, databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """With `check --database` and before migrating: whether searches have their index."""
    found: list[CheckMessage] = []
    for alias in databases or ():
        if index.is_missing(connections[alias]):
            found.append(
                Warning(
                    f"DATABASES[{alias!r}]: the index for searching messages is missing.",
                    hint="`manage.py migrate` makes it. SQLite needs FTS5: without it, only the newest messages are"
                    " searched, one by one.",
                    id="crossmemory.W005",
                )
            )
    return found


def _check_channel_layer() -> list[CheckMessage]:
    """A bot is another process: without a layer they share, its messages are found by polling."""
    others = [alias for alias in surfaces if alias != primary_surface()]
    layers = getattr(django_settings, "CHANNEL_LAYERS", {})
    backend = str(layers.get(settings.CHANNEL_LAYER, {}).get("BACKEND", ""))
    if others and (not backend or backend.endswith("InMemoryChannelLayer")):
        return [
            Info(
                f"No channel layer that processes share: what {', '.join(others)} brings is shown within"
                f" {settings.POLL_SECONDS:g} s instead of at once.",
                hint="Set CHANNEL_LAYERS to channels_redis.",
                id="crossmemory.I001",
            )
        ]
    return []
