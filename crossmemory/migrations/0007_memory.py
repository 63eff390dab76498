from django.db import migrations, models


def mark_groups(apps, schema_editor):
    """A conversation on another surface that is not the one of its person was made for a group."""
    conversations = apps.get_model("crossmemory", "Conversation").objects.using(schema_editor.connection.alias)
    found = conversations.filter(singleton=False, shared=False, reads=False).exclude(surface="web")
    found.update(group_chat=True)


class Migration(migrations.Migration):

    dependencies = [
        ("crossmemory", "0006_previews"),
    ]

    operations = [
        migrations.AddField(
            model_name="conversation",
            name="group_chat",
            field=models.BooleanField(default=False, editable=False, verbose_name="in a group"),
        ),
        migrations.RunPython(mark_groups, migrations.RunPython.noop, elidable=True),
        migrations.AddConstraint(
            model_name="conversation",
            constraint=models.CheckConstraint(
                condition=models.Q(("group_chat", False), models.Q(("reads", False), ("shared", False)), _connector="OR"),
                name="crossmemory_groups_are_apart",
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="recent_start",
            field=models.BigIntegerField(blank=True, editable=False, null=True),
        ),
        migrations.AlterField(
            model_name="toolcall",
            name="conversation",
            field=models.ForeignKey(
                db_index=False,
                on_delete=models.deletion.CASCADE,
                related_name="tool_calls",
                to="crossmemory.conversation",
                verbose_name="conversation",
            ),
        ),
        migrations.AddIndex(
            model_name="toolcall",
            index=models.Index(fields=["conversation", "-id"], name="crossmemory_tool_newest"),
        ),
    ]
