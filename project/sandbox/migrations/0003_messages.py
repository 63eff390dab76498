import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sandbox", "0002_updates")]

    operations = [
        migrations.CreateModel(
            name="ChatMessage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("message_id", models.BigIntegerField()),
                ("direction", models.CharField(choices=[("in", "to the bot"), ("out", "from the bot")], max_length=3)),
                ("sender_id", models.BigIntegerField(blank=True, null=True)),
                ("text", models.TextField(blank=True, default="")),
                (
                    "media",
                    models.CharField(
                        blank=True, default="", help_text="voice, photo, … when it has no text", max_length=32
                    ),
                ),
                ("entities", models.JSONField(blank=True, default=list)),
                ("parse_mode", models.CharField(blank=True, default="", max_length=16)),
                ("reply_markup", models.JSONField(blank=True, null=True)),
                ("reply_to", models.BigIntegerField(blank=True, null=True)),
                ("thread_id", models.BigIntegerField(blank=True, null=True)),
                ("date", models.BigIntegerField(help_text="Unix seconds")),
                ("edited", models.BigIntegerField(blank=True, help_text="Unix seconds of the last edit", null=True)),
                ("deleted", models.BooleanField(default=False)),
                ("version", models.BigIntegerField(help_text="The chat's version when this last changed")),
                (
                    "chat",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="messages", to="sandbox.chat"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Press",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("message_id", models.BigIntegerField()),
                ("data", models.CharField(max_length=64)),
                ("answered", models.BooleanField(default=False)),
                ("text", models.CharField(blank=True, default="", max_length=200)),
                ("show_alert", models.BooleanField(default=False)),
                ("version", models.BigIntegerField()),
                (
                    "chat",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="presses", to="sandbox.chat"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "presses",
            },
        ),
        migrations.AddIndex(
            model_name="chatmessage",
            index=models.Index(fields=["chat", "version"], name="sandbox_message_changed"),
        ),
        migrations.AddConstraint(
            model_name="chatmessage",
            constraint=models.UniqueConstraint(fields=("chat", "message_id"), name="sandbox_message_id_once_per_chat"),
        ),
        migrations.AddIndex(
            model_name="press",
            index=models.Index(fields=["chat", "version"], name="sandbox_press_changed"),
        ),
    ]
