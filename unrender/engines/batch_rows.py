"""Where the rows of one decoding lie: their cache and the memory of their images, in buffers that are used in place.

Every image has `width` neighbouring slots (one for greedy search, one for each beam), so that its rows read its memory
together. Callers number rows in their own order; `slots` says where each one lies. A row that leaves is replaced by
the last one, a row that is copied goes to a free slot of its image: nothing else moves.

Shapes: L layers, 2 keys and values, H heads, D width of one head, N memory vectors.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from unrender.decoding.rules import Ids
from unrender.models.config import DecoderConfig

Floats = NDArray[np.float32]
_Kind = TypeVar("_Kind", bound=np.generic)

_FIRST_TOKENS = 64  # room for so many tokens at first; doubled whenever it is full
_HIDDEN = np.float32(-1e9)  # added to what lies beyond an image's own memory
_HEAD_MULTIPLE = 8
_SLACK = 2  # memory buffers are made smaller when they are this many times too large


@dataclass(frozen=True)
class Memory:
    """What the decoder sees of one image."""

    keys_values: Floats  # (L, 2, H, N, D)
    cells: Ids | None = None  # (N,) where each vector lies among those of a padded batch

    @property
    def size(self) -> int:
        return int(self.keys_values.shape[3])


class Rows:
    """The buffers of one decoding and who lies where in them."""

    def __init__(self, config: DecoderConfig) -> None:
        head = config.hidden // config.heads
        self._most_tokens = config.max_positions
        self.width = 1  # slots of each image
        self.images = 0
        self.slots: Ids = np.zeros(0, dtype=np.int64)  # (B,)
        self.lengths: Ids = np.zeros(0, dtype=np.int64)  # tokens in each slot
        self.sizes: list[int] = []  # memory vectors of each image
        self.cells: list[Ids | None] = []  # of those vectors, for each image
        shape = config.layers, 2, 0, config.heads, _FIRST_TOKENS, cached_width(config)
        self.cache: Floats = np.empty(shape, dtype=np.float32)
        self.memory: Floats = np.zeros((config.layers, 2, 0, config.heads, 0, head), dtype=np.float32)
        self.mask: Floats = np.zeros((0, 1, 1, 0), dtype=np.float32)
        self.moved = True  # whether buffers or counts have changed since the caller last looked

    @property
    def used(self) -> int:
        """How many slots are in use, counted from the first."""
        return self.images * self.width

    @property
    def longest(self) -> int:
        return int(self.lengths[: self.used].max(initial=0))

    def add(self, memory: Memory) -> None:
        """Add one image with one row, which comes last."""
        self._fit_images(self.images + 1)
        self.sizes.append(memory.size)
        self.cells.append(memory.cells)
        self._fit_memory()
        image = self.images
        self.memory[:, :, image, :, : memory.size] = memory.keys_values
        self.mask[image] = np.where(np.arange(self.mask.shape[-1]) < memory.size, np.float32(0), _HIDDEN)
        self.lengths[image * self.width : (image + 1) * self.width] = 0
        self.slots = np.append(self.slots, image * self.width)
        self.images += 1
        self.moved = True

    def forget(self) -> None:
        """Go back to one row for each image, at its beginning; images that have left stay away."""
        self.slots = np.arange(self.images) * self.width
        self.lengths[:] = 0

    def make_room(self, tokens: int) -> None:
        """See that every slot can hold so many tokens."""
        room = self.cache.shape[4]
        if tokens > room:
            shape = list(self.cache.shape)
            shape[4] = min(self._most_tokens, 2 * tokens)
            grown = np.empty(shape, np.float32)
            grown[:, :, : self.used, :, :room] = self.cache[:, :, : self.used]
            self.cache = grown
            self.moved = True

    def reorder(self, rows: Ids) -> None:
        """Make row i a copy of the present row rows[i]; the batch may shrink, or grow within its images."""
        if np.array_equal(rows, np.arange(len(self.slots))):
            return
        parents = self.slots[rows]
        widest = int(np.bincount(parents // self.width).max(initial=1))
        if widest > self.width:
            parents = self._widen(widest, parents)
        self.slots = self._share_out(parents)
        self._close_gaps()

    def _widen(self, width: int, slots: Ids) -> Ids:
        """Give every image more slots; return where these slots are then."""
        kept = np.arange(self.used)
        moved, old = self._spread(kept, width), (self.cache, self.lengths)
        room = (*self.cache.shape[:2], self.memory.shape[2] * width, *self.cache.shape[3:])
        self.cache, self.lengths = np.empty(room, np.float32), np.zeros(room[2], np.int64)
        longest = int(old[1][kept].max(initial=0))
        self.cache[:, :, moved, :, :longest] = old[0][:, :, kept, :, :longest]
        self.lengths[moved] = old[1][kept]
        slots, self.width = self._spread(slots, width), width
        self.moved = True
        return slots

    def _spread(self, slots: Ids, width: int) -> Ids:
        return slots // self.width * width + slots % self.width

    def _share_out(self, parents: Ids) -> Ids:
        """Leave each parent's slot to its first child and copy it to free slots of the image for the others."""
        slots, taken, seen = parents.copy(), set(parents.tolist()), set[int]()
        copies = []
        for row, parent in enumerate(parents.tolist()):
            if parent not in seen:
                seen.add(parent)
                continue
            first = parent // self.width * self.width
            free = next(slot for slot in range(first, first + self.width) if slot not in taken)
            taken.add(free)
            copies.append((parent, free))
            slots[row] = free
        self._copy_slots(copies)
        return slots

    def _close_gaps(self) -> None:
        """Move the last images to where others have left."""
        images = self.slots // self.width
        live = sorted(set(images.tolist()))
        gaps = [image for image in range(len(live)) if image not in set(live)]
        for gap, last in zip(gaps, live[len(live) - len(gaps) :], strict=True):
            self.memory[:, :, gap] = self.memory[:, :, last]
            self.mask[gap] = self.mask[last]
            self.sizes[gap], self.cells[gap] = self.sizes[last], self.cells[last]
            offset = (gap - last) * self.width
            self._copy_slots([(slot, slot + offset) for slot in range(last * self.width, (last + 1) * self.width)])
            self.slots[images == last] += offset
        if len(live) < self.images:
            self.images = len(live)
            del self.sizes[self.images :], self.cells[self.images :]
            self._fit_memory()
            self.moved = True

    def _copy_slots(self, pairs: list[tuple[int, int]]) -> None:
        if not pairs:
            return
        sources, targets = (np.array(side) for side in zip(*pairs, strict=True))
        longest = int(self.lengths[sources].max())
        self.cache[:, :, targets, :, :longest] = self.cache[:, :, sources, :, :longest]
        self.lengths[targets] = self.lengths[sources]

    def _fit_images(self, images: int) -> None:
        room = self.memory.shape[2]
        if images <= room:
            return
        room = max(images, 2 * room)
        self.cache = _resized(self.cache, 2, room * self.width)
        self.lengths = _resized(self.lengths, 0, room * self.width)
        self.memory = _resized(self.memory, 2, room)
        self.mask = _resized(self.mask, 0, room)

    def _fit_memory(self) -> None:
        """Let the memory buffer be as long as the largest image needs, and not much longer."""
        room, needed = self.memory.shape[4], max(self.sizes, default=0)
        if needed > room or needed * _SLACK < room:
            self.memory = _resized(self.memory, 4, needed)
            hidden = np.full((*self.mask.shape[:3], needed), _HIDDEN, np.float32)
            hidden[..., : min(room, needed)] = self.mask[..., :needed]
            self.mask = hidden
            self.moved = True


def cached_width(config: DecoderConfig) -> int:
    """Return the width of a head in the cache: the least multiple of 8, which the graph's attention asks for."""
    return -(-(config.hidden // config.heads) // _HEAD_MULTIPLE) * _HEAD_MULTIPLE


def _resized(array: NDArray[_Kind], axis: int, length: int) -> NDArray[_Kind]:
    """Return an array that is longer or shorter along one axis; what is new is zero."""
    shape = list(array.shape)
    shape[axis] = length
    resized = np.zeros(shape, array.dtype)
    common = (slice(None),) * axis + (slice(min(length, array.shape[axis])),)
    resized[common] = array[common]
    return resized
