"""Files that people sent: who, where, when and how large; the file itself for staff who may read what people said."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpRequest, HttpResponseBase
from django.template.defaultfilters import filesizeformat
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from crossmemory.admin import links
from crossmemory.admin.base import Fieldsets, HistoryAdmin, pretty
from crossmemory.admin.permissions import may_read
from crossmemory.models import Attachment, Message


@admin.register(Attachment)
class AttachmentAdmin(HistoryAdmin):
    person = "conversation__user"
    unread = ("conversation__title", "message__text", "message__parts")
    words = ("name", "description", "details")
    list_display = ("id", "who", "where", "conversation_link", "type", "mime", "size", "created_at")
    list_filter = ("type",)
    list_select_related = ("conversation__user",)
    narrowed_by = ("conversation__id__exact", "message__id__exact")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Fieldsets:
        said = ("name", "download", "description", "details_json") if may_read(request) else ("hidden",)
        about = ("uid", "who", "where", "conversation_link", "message_link", "type", "mime", "size", "created_at")
        return [(None, {"fields": (*about, *said)})]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.file_view)
        return [path("<int:key>/file/", view, name="crossmemory_attachment_file"), *super().get_urls()]

    def file_view(self, request: HttpRequest, key: int) -> HttpResponseBase:
        """The file, always as a download: it is somebody's bytes, and never a page of this site."""
        row = Attachment.objects.filter(pk=key).first()
        if not (may_read(request) and self.has_view_permission(request, row)):
            raise PermissionDenied
        if row is None:
            raise Http404
        try:
            content = row.file.open()
        except FileNotFoundError:
            raise Http404 from None
        name = row.name or str(row.uid)
        return FileResponse(content, as_attachment=True, filename=name, content_type="application/octet-stream")

    @admin.display(description=_("size"))
    def size(self, row: Attachment) -> str:
        return filesizeformat(row.bytes)

    @admin.display(description=_("message"))
    def message_link(self, row: Any) -> str:
        return links.change_link(self.admin_site, Message, row.message_id, f"#{row.message_id}")

    @admin.display(description=_("file"))
    def download(self, row: Attachment) -> str:
        url = reverse(f"{self.admin_site.name}:crossmemory_attachment_file", args=[row.pk])
        return format_html('<a href="{}">{}</a>', url, _("Download"))

    @admin.display(description=_("details"))
    def details_json(self, row: Attachment) -> str:
        return pretty(row.details)
