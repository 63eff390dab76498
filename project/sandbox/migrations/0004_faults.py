from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sandbox", "0003_messages")]

    operations = [
        migrations.CreateModel(
            name="Fault",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "method",
                    models.CharField(help_text="A method's name in lower case, or * for every method", max_length=64),
                ),
                ("chat_id", models.BigIntegerField(blank=True, help_text="Only calls for this chat", null=True)),
                ("status", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("description", models.CharField(blank=True, default="", max_length=255)),
                ("retry_after", models.PositiveIntegerField(blank=True, help_text="Seconds", null=True)),
                ("migrate_to_chat_id", models.BigIntegerField(blank=True, null=True)),
                (
                    "times",
                    models.PositiveIntegerField(
                        blank=True, help_text="How often still; empty: until cleared", null=True
                    ),
                ),
                (
                    "delay",
                    models.FloatField(
                        default=0.0, help_text="Seconds to wait; after the act when the answer is dropped"
                    ),
                ),
                (
                    "drop",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "answer"),
                            ("before", "close the connection, do nothing"),
                            ("after", "do it, lose the answer"),
                        ],
                        default="",
                        max_length=6,
                    ),
                ),
            ],
        ),
    ]
