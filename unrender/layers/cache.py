"""What one decoding remembers: keys and values of the memory and of the tokens so far."""

import torch
from torch import Tensor

_FIRST_ROOM = 32  # tokens; the room doubles whenever it is full


class KeyValue:
    """Keys and values (B, H, T, D) of one layer, appended to in place."""

    def __init__(self) -> None:
        self._keys = torch.empty(0)
        self._values = torch.empty(0)
        self.length = 0

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Add new keys and values at the end; return all of them."""
        end = self.length + keys.shape[2]
        if self.length == 0 or end > self._keys.shape[2]:
            self._keys, self._values = self._grown(self._keys, keys, end), self._grown(self._values, values, end)
        self._keys[:, :, self.length : end] = keys
        self._values[:, :, self.length : end] = values
        self.length = end
        return self._keys[:, :, :end], self._values[:, :, :end]

    def reorder(self, rows: Tensor) -> None:
        if self.length:
            self._keys, self._values = self._picked(self._keys, rows), self._picked(self._values, rows)

    def _grown(self, old: Tensor, new: Tensor, end: int) -> Tensor:
        room = max(_FIRST_ROOM, 2 * end)
        grown = new.new_empty((*new.shape[:2], room, new.shape[3]))
        if self.length:
            grown[:, :, : self.length] = old[:, :, : self.length]
        return grown

    def _picked(self, old: Tensor, rows: Tensor) -> Tensor:
        picked = old.new_empty((len(rows), *old.shape[1:]))
        picked[:, :, : self.length] = old[:, :, : self.length][rows]
        return picked


class DecoderState:
    """The memory and the cache of one batch of rows; `images` says which image each row reads."""

    def __init__(self, memory: list[tuple[Tensor, Tensor]], memory_mask: Tensor | None) -> None:
        self._all_memory = memory
        self._all_masks = None if memory_mask is None else memory_mask[:, None, None, :]
        self.memory = memory
        self.memory_mask = self._all_masks
        self.past = [KeyValue() for _ in memory]
        self.images = torch.arange(len(memory[0][0]))
        self.length = 0
        self.watched: Tensor | None = None
        self._visible: Tensor | None = None  # (B, length), only once a row has had padding

    @property
    def rows(self) -> int:
        return len(self.images)

    def advance(self, count: int, positions: Tensor | None, device: torch.device) -> tuple[Tensor, Tensor | None]:
        """Make room for `count` new tokens; return their positions and who may see whom among the tokens so far."""
        before, self.length = self.length, self.length + count
        if positions is None and self._visible is not None:
            first = self._visible.sum(1, keepdim=True)
            positions = first + torch.arange(count, device=device)
        if positions is not None:
            self._see(positions >= 0, before)
        else:
            positions = torch.arange(before, self.length, device=device)
        return positions, self._mask(before, device)

    def reorder(self, rows: Tensor) -> None:
        """Keep these rows, in this order; the memory is copied only when a row changes its image."""
        images = self.images[rows]
        if not torch.equal(images, self.images):
            self.images = images
            self.memory = [(keys[images], values[images]) for keys, values in self._all_memory]
            self.memory_mask = None if self._all_masks is None else self._all_masks[images]
        for past in self.past:
            past.reorder(rows)
        self._visible = None if self._visible is None else self._visible[rows]

    def _see(self, visible: Tensor, before: int) -> None:
        if self._visible is None:
            self._visible = visible.new_ones(len(visible), before)
        self._visible = torch.cat([self._visible, visible], dim=1)

    def _mask(self, before: int, device: torch.device) -> Tensor | None:
        count = self.length - before
        if count == 1 and self._visible is None:
            return None
        order = torch.arange(self.length, device=device)
        causal = order[None, :] <= order[before:, None]
        if self._visible is None:
            return causal
        own = order[None, :] == order[before:, None]  # padding sees itself, so that no row of weights is empty
        return (causal & self._visible[:, None, :] | own)[:, None]
