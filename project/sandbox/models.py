"""What the pretended Telegram remembers. Texts are counted in UTF-16 code units, as the Bot API does."""

from django.db import models

# https://core.telegram.org/bots/api#update; not sent unless a bot asks for them by name.
ONLY_ON_REQUEST = frozenset({"chat_member", "message_reaction", "message_reaction_count"})
KINDS = ONLY_ON_REQUEST | {
    "message",
    "edited_message",
    "channel_post",
    "edited_channel_post",
    "business_connection",
    "business_message",
    "edited_business_message",
    "deleted_business_messages",
    "inline_query",
    "chosen_inline_result",
    "callback_query",
    "shipping_query",
    "pre_checkout_query",
    "purchased_paid_media",
    "poll",
    "poll_answer",
    "my_chat_member",
    "chat_join_request",
    "chat_boost",
    "removed_chat_boost",
}


class Bot(models.Model):
    """A bot known by its token ``<id>:<secret>``; made when a well-formed token is first used."""

    id = models.BigIntegerField(primary_key=True)
    secret = models.CharField(max_length=128)
    username = models.CharField(max_length=64, unique=True)
    first_name = models.CharField(max_length=64)
    called = models.BooleanField(default=False, help_text="Has it ever called getMe or getUpdates?")
    next_update_id = models.BigIntegerField(default=300_000_001)
    poller = models.CharField(max_length=32, default="", blank=True, help_text="The newest getUpdates call.")
    allowed_updates = models.JSONField(default=list, blank=True)
    commands = models.JSONField(default=dict, blank=True, help_text="Lists of commands by scope and language.")
    webhook_url = models.CharField(max_length=500, default="", blank=True)
    webhook_secret = models.CharField(max_length=256, default="", blank=True)
    webhook_error = models.CharField(max_length=255, default="", blank=True, help_text="Of the newest failed call.")
    webhook_error_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"@{self.username}"

    def waiting(self) -> "models.QuerySet[Update]":
        """Updates that the bot has asked for and not confirmed."""
        unwanted = KINDS - set(self.allowed_updates) if self.allowed_updates else ONLY_ON_REQUEST
        return Update.objects.filter(bot=self, confirmed=False).exclude(kind__in=unwanted)


class Person(models.Model):
    """Somebody who holds a phone."""

    user_id = models.BigIntegerField(primary_key=True)
    first_name = models.CharField(max_length=64)
    language_code = models.CharField(max_length=16, default="en", blank=True)

    def __str__(self) -> str:
        return f"{self.first_name} ({self.user_id})"


class Chat(models.Model):
    """One bot's chat. A private chat has the id of its person.

    ``version`` rises with every change that a phone would show; readers ask for what changed since.
    """

    bot = models.ForeignKey(Bot, on_delete=models.CASCADE, related_name="chats")
    chat_id = models.BigIntegerField()
    type = models.CharField(max_length=16, default="private")
    title = models.CharField(max_length=255, default="", blank=True)
    blocked = models.BooleanField(default=False, help_text="The person blocked the bot.")
    next_message_id = models.BigIntegerField(default=1)
    version = models.BigIntegerField(default=0)
    action = models.CharField(max_length=32, default="", blank=True)
    action_until = models.DateTimeField(null=True, blank=True)
    draft = models.TextField(default="", blank=True)
    draft_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["bot", "chat_id"], name="sandbox_one_chat_per_bot")]

    def __str__(self) -> str:
        return f"{self.type} {self.chat_id}"


class Update(models.Model):
    """One update waiting for its bot, or confirmed by it.

    ``forced`` marks one that was given with its own id: it is delivered once even below the bot's offset, as Telegram
    does after its counter restarts or when it delivers again.
    """

    bot = models.ForeignKey(Bot, on_delete=models.CASCADE, related_name="updates")
    update_id = models.BigIntegerField()
    kind = models.CharField(max_length=64, default="", blank=True)
    payload = models.TextField(help_text="The whole update as ASCII JSON, so that NUL and lone surrogates survive.")
    forced = models.BooleanField(default=False)
    served = models.BooleanField(default=False)
    confirmed = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["bot", "update_id", "id"],
                condition=models.Q(confirmed=False),
                name="sandbox_update_waiting",
            ),
            models.Index(fields=["bot", "update_id"], name="sandbox_update_by_id"),
        ]

    def __str__(self) -> str:
        return f"{self.update_id} {self.kind}"


class StoredFile(models.Model):
    """A file that a phone sent."""

    bot = models.ForeignKey(Bot, on_delete=models.CASCADE, related_name="files")
    file_id = models.CharField(max_length=64, unique=True)
    kind = models.CharField(max_length=16, help_text="The field of a Message in which it stands")
    name = models.CharField(max_length=100)
    mime = models.CharField(max_length=100)
    size = models.BigIntegerField(help_text="Bytes")
    content = models.BinaryField()

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class ChatMessage(models.Model):
    """What stands in a chat, from either side."""

    class Direction(models.TextChoices):
        IN = "in", "to the bot"
        OUT = "out", "from the bot"

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="messages")
    message_id = models.BigIntegerField()
    direction = models.CharField(max_length=3, choices=Direction.choices)
    sender_id = models.BigIntegerField(null=True, blank=True)
    text = models.TextField(default="", blank=True)
    media = models.CharField(max_length=32, default="", blank=True, help_text="voice, photo, … when it has no text")
    file = models.ForeignKey(StoredFile, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    album = models.CharField(max_length=64, default="", blank=True)
    entities = models.JSONField(default=list, blank=True)
    parse_mode = models.CharField(max_length=16, default="", blank=True)
    reply_markup = models.JSONField(null=True, blank=True)
    reply_to = models.BigIntegerField(null=True, blank=True)
    thread_id = models.BigIntegerField(null=True, blank=True)
    date = models.BigIntegerField(help_text="Unix seconds")
    edited = models.BigIntegerField(null=True, blank=True, help_text="Unix seconds of the last edit")
    deleted = models.BooleanField(default=False)
    version = models.BigIntegerField(help_text="The chat's version when this last changed")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["chat", "message_id"], name="sandbox_message_id_once_per_chat")]
        indexes = [models.Index(fields=["chat", "version"], name="sandbox_message_changed")]

    def __str__(self) -> str:
        return f"{self.direction} {self.message_id}"


class Press(models.Model):
    """A tap on an inline button, and what the bot answered to it."""

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="presses")
    message_id = models.BigIntegerField()
    data = models.CharField(max_length=64)
    answered = models.BooleanField(default=False)
    text = models.CharField(max_length=200, default="", blank=True)
    show_alert = models.BooleanField(default=False)
    version = models.BigIntegerField()

    class Meta:
        verbose_name_plural = "presses"
        indexes = [models.Index(fields=["chat", "version"], name="sandbox_press_changed")]

    def __str__(self) -> str:
        return f"{self.message_id}: {self.data}"


class Fault(models.Model):
    """A planned failure of a Bot API method."""

    class Drop(models.TextChoices):
        NO = "", "answer"
        BEFORE = "before", "close the connection, do nothing"
        AFTER = "after", "do it, lose the answer"
        SLOW = "slow", "do it, let the answer trickle for as long as the delay says"
        BROKEN = "broken", "do it, answer with what is no JSON"

    method = models.CharField(max_length=64, help_text="A method's name in lower case, or * for every method")
    chat_id = models.BigIntegerField(null=True, blank=True, help_text="Only calls for this chat")
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    description = models.CharField(max_length=255, default="", blank=True)
    retry_after = models.PositiveIntegerField(null=True, blank=True, help_text="Seconds")
    migrate_to_chat_id = models.BigIntegerField(null=True, blank=True)
    times = models.PositiveIntegerField(null=True, blank=True, help_text="How often still; empty: until cleared")
    delay = models.FloatField(default=0.0, help_text="Seconds to wait; after the act when the answer is dropped")
    drop = models.CharField(max_length=6, choices=Drop.choices, default=Drop.NO, blank=True)

    def __str__(self) -> str:
        return f"{self.method}: {self.drop or self.status or 'slow'}"
