from django.db import migrations

from crossmemory.memory.searching import index


class Migration(migrations.Migration):
    # PostgreSQL builds the index while the site goes on writing, which cannot be taken back as a whole.
    atomic = False

    dependencies = [
        ('crossmemory', '0008_left_out_here'),
    ]

    operations = [
        migrations.RunPython(index.install, index.remove, elidable=False),
    ]
