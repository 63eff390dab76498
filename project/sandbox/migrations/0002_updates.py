import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sandbox", "0001_bots_people_and_chats")]

    operations = [
        migrations.CreateModel(
            name="Update",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("update_id", models.BigIntegerField()),
                ("kind", models.CharField(blank=True, default="", max_length=64)),
                (
                    "payload",
                    models.TextField(
                        help_text="The whole update as ASCII JSON, so that NUL and lone surrogates survive."
                    ),
                ),
                ("forced", models.BooleanField(default=False)),
                ("served", models.BooleanField(default=False)),
                ("confirmed", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "bot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="updates", to="sandbox.bot"
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="update",
            index=models.Index(
                condition=models.Q(("confirmed", False)),
                fields=["bot", "update_id", "id"],
                name="sandbox_update_waiting",
            ),
        ),
        migrations.AddIndex(
            model_name="update",
            index=models.Index(fields=["bot", "update_id"], name="sandbox_update_by_id"),
        ),
    ]
