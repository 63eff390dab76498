"""The pretended Telegram's tables, to look into."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin

from project.sandbox.models import Bot, Chat, ChatMessage, Fault, Person, Press, StoredFile, Update

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdmin = admin.ModelAdmin


@admin.register(Bot)
class BotAdmin(ModelAdmin):
    list_display = ("id", "username", "first_name", "called", "webhook_url")


@admin.register(Person)
class PersonAdmin(ModelAdmin):
    list_display = ("user_id", "first_name", "language_code")


@admin.register(Chat)
class ChatAdmin(ModelAdmin):
    list_display = ("chat_id", "bot", "type", "title", "blocked")
    list_select_related = ("bot",)


@admin.register(ChatMessage)
class ChatMessageAdmin(ModelAdmin):
    list_display = ("message_id", "chat", "direction", "text", "deleted")
    list_select_related = ("chat",)
    list_filter = ("direction",)
    raw_id_fields = ("chat",)
    ordering = ("-pk",)


@admin.register(StoredFile)
class StoredFileAdmin(ModelAdmin):
    list_display = ("file_id", "bot", "kind", "name", "mime", "size")
    list_select_related = ("bot",)
    exclude = ("content",)


@admin.register(Update)
class UpdateAdmin(ModelAdmin):
    list_display = ("update_id", "bot", "kind", "served", "confirmed", "created_at")
    list_select_related = ("bot",)
    list_filter = ("confirmed",)
    ordering = ("-pk",)


@admin.register(Press)
class PressAdmin(ModelAdmin):
    list_display = ("id", "chat", "message_id", "data", "answered", "text")
    list_select_related = ("chat",)
    raw_id_fields = ("chat",)


@admin.register(Fault)
class FaultAdmin(ModelAdmin):
    list_display = ("method", "chat_id", "status", "retry_after", "times", "delay", "drop")
