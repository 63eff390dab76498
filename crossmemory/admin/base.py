"""What all admin pages of the app share: made for big tables, read-only where history is, words on permission."""

import json
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from crossmemory.admin import links, search
from crossmemory.admin.paging import BoundedPaginator, UnsortableChangeList
from crossmemory.admin.permissions import HIDDEN, may, may_read
from crossmemory.conf import surface_label

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdmin = admin.ModelAdmin

Fieldsets = list[tuple[Any, Any]]


class BigTableAdmin(ModelAdmin):
    """Lists cost the same for a thousand and for a hundred million rows: nothing is counted, sorted or searched that
    an index does not answer, and heavy columns are not read."""

    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    paginator = BoundedPaginator
    list_per_page = 50
    ordering = ("-pk",)
    search_fields = ("pk",)  # shows the box; `get_search_results` says what is looked for
    search_help_text = search.HELP

    #: the lookup that leads to the user, or None where rows belong to nobody
    person: ClassVar[str | None] = None
    #: columns that hold what people said: not read without the permission, and never in lists
    words: ClassVar[tuple[str, ...]] = ()
    #: further heavy columns that lists do not read
    heavy: ClassVar[tuple[str, ...]] = ()
    #: columns of related rows that no page shows
    unread: ClassVar[tuple[str, ...]] = ()
    #: what may be asked for in a list's address; anything else would be a way to guess words letter by letter
    narrowed_by: ClassVar[tuple[str, ...]] = ()

    class Media:
        css: ClassVar[dict[str, Any]] = {"all": ["crossmemory/admin/admin.css"]}

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[UnsortableChangeList]:
        return UnsortableChangeList

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        in_list = self._is_own(request, "changelist")
        left = (*self.unread, *(self.heavy if in_list else ()))
        if in_list or not may_read(request):
            left += self.words
        if not in_list and self.list_select_related:
            rows = rows.select_related(*self.list_select_related)  # type: ignore[misc]
        return rows.defer(*left) if left else rows

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip()
        return (search.find(queryset, term, self.person) if term else queryset), False

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        filters = {getattr(each, "parameter_name", each) for each in self.list_filter}
        return lookup in {*self.narrowed_by, *filters, *(f"{each}__exact" for each in filters)}

    @admin.display(description=_("user"))
    def who(self, row: Any) -> str:
        """The person a row belongs to."""
        if self.person is None:
            return "-"
        for name in self.person.split("__"):
            row = getattr(row, name, None)
            if row is None:
                return "-"
        return links.person_link(self.admin_site, row)

    @admin.display(description=_("surface"))
    def where(self, row: Any) -> str:
        return surface_label(row.surface if hasattr(row, "surface") else row.conversation.surface)

    @admin.display(description=_("conversation"))
    def conversation_link(self, row: Any) -> str:
        """A link without the title, which may hold words."""
        model = type(row)._meta.get_field("conversation").related_model
        return links.change_link(self.admin_site, model, row.conversation_id, f"#{row.conversation_id}")

    @admin.display(description=_("what was said"))
    def hidden(self, row: Any) -> Any:
        """Stands where words would."""
        return HIDDEN

    def _is_own(self, request: HttpRequest, view: str = "") -> bool:
        """Whether this request shows one of this admin's own pages, and not one of a row that it belongs to."""
        match = request.resolver_match
        name = f"{self.opts.app_label}_{self.opts.model_name}_{view}"
        return match is not None and (match.url_name or "").startswith(name)


class HistoryAdmin(BigTableAdmin):
    """Rows that are read here and never changed, nor deleted one by one."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Rows leave with what they belong to: Django asks here too when it deletes a user or a conversation."""
        return not self._is_own(request) and may(request, "delete", "conversation")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        fieldsets: Any = self.get_fieldsets(request, obj)
        return [name for _, options in fieldsets for name in options["fields"]]


def pretty(value: Any) -> str:
    """JSON to read."""
    if value is None:
        return "-"
    return pre(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def pre(text: str) -> str:
    """Text as it is, in its lines."""
    return format_html('<pre class="cm-pre">{}</pre>', text)
