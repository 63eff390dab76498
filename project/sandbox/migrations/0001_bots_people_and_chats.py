import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Bot",
            fields=[
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("secret", models.CharField(max_length=128)),
                ("username", models.CharField(max_length=64, unique=True)),
                ("first_name", models.CharField(max_length=64)),
                ("called", models.BooleanField(default=False, help_text="Has it ever called getMe or getUpdates?")),
                ("next_update_id", models.BigIntegerField(default=300000001)),
                (
                    "poller",
                    models.CharField(blank=True, default="", help_text="The newest getUpdates call.", max_length=32),
                ),
                ("allowed_updates", models.JSONField(blank=True, default=list)),
                (
                    "commands",
                    models.JSONField(blank=True, default=dict, help_text="Lists of commands by scope and language."),
                ),
                ("webhook_url", models.CharField(blank=True, default="", max_length=500)),
                ("webhook_secret", models.CharField(blank=True, default="", max_length=256)),
            ],
        ),
        migrations.CreateModel(
            name="Person",
            fields=[
                ("user_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("first_name", models.CharField(max_length=64)),
                ("language_code", models.CharField(blank=True, default="en", max_length=16)),
            ],
        ),
        migrations.CreateModel(
            name="Chat",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("chat_id", models.BigIntegerField()),
                ("type", models.CharField(default="private", max_length=16)),
                ("title", models.CharField(blank=True, default="", max_length=255)),
                ("blocked", models.BooleanField(default=False, help_text="The person blocked the bot.")),
                ("next_message_id", models.BigIntegerField(default=1)),
                ("version", models.BigIntegerField(default=0)),
                ("action", models.CharField(blank=True, default="", max_length=32)),
                ("action_until", models.DateTimeField(blank=True, null=True)),
                ("draft", models.TextField(blank=True, default="")),
                ("draft_until", models.DateTimeField(blank=True, null=True)),
                (
                    "bot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="chats", to="sandbox.bot"
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="chat",
            constraint=models.UniqueConstraint(fields=("bot", "chat_id"), name="sandbox_one_chat_per_bot"),
        ),
    ]
