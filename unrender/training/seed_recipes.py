"""How each system of the seeds was trained."""

from dataclasses import replace

from unrender.training.recipe import Recipe, Schedule
from unrender.training.text_runs import SystemCourse

# Donut, fine-tuning on CORD as published: Adam, 30 epochs of batches of 8, cosine to zero after 300 warm-up updates.
PUBLISHED_DONUT = SystemCourse(
    model="donut-base",
    batch=8,
    recipe=Recipe(schedule=Schedule(peak=3e-5, warm_up=300), optimiser="adam", weight_decay=0.0, epochs=30),
)
# Seed 001, 3.1: 5e-5 times 0.9996 every 15 updates down to 7.5e-6, three epochs, effective batch 192.
_NOUGAT = SystemCourse(
    model="nougat-base",
    batch=1,
    recipe=Recipe(
        schedule=Schedule(peak=5e-5, decay=0.9996, decay_every=15, floor=7.5e-6), accumulate=192, clip=0.5, epochs=3
    ),
    augmented=True,
    token_noise=0.1,
)
# Seed 004, 5.3, for the next three.
_SWIMNET = SystemCourse(
    model="swimnet", batch=15, recipe=Recipe(schedule=Schedule(peak=5e-6), weight_decay=1e-4, epochs=10)
)
_TROCR_BASE = SystemCourse(
    model="trocr-base",
    batch=8,
    recipe=Recipe(schedule=Schedule(peak=5e-7, by_epoch=((0, 5e-7), (6, 1e-7))), weight_decay=1e-4, epochs=15),
)
_TROCR_SMALL = SystemCourse(
    model="trocr-small", batch=28, recipe=Recipe(schedule=Schedule(peak=5e-6), weight_decay=1e-4, epochs=5)
)
# Seed 002 is silent on its training.
_RECOGNIZER = SystemCourse(
    model="recognizer",
    batch=64,
    recipe=Recipe(schedule=Schedule(peak=5e-4, warm_up=500), average=0.999, smoothing=0.05, epochs=20),
    augmented=True,
)

# What people corrected: a few pictures, so few and small steps from the model that reads them.
_CORRECTIONS = SystemCourse(model="formula", batch=4, recipe=Recipe(schedule=Schedule(peak=3e-5), epochs=5))

SYSTEMS = {
    "nougat": _NOUGAT,
    "nougat-small": replace(_NOUGAT, model="nougat-small"),
    "swimnet": _SWIMNET,
    "trocr-base": _TROCR_BASE,
    "trocr-small": _TROCR_SMALL,
    "recognizer": _RECOGNIZER,
    "formula-corrections": _CORRECTIONS,
}
