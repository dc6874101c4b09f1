"""Attention in bfloat16, for training where the processor multiplies matrices of it fast.

Shapes: B rows, H heads, T queries, N keys, D width of one head.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import pad

_LANES = 32
_CACHED = 400_000  # similarities that stay in the cache of a core


class HalfAttention(torch.autograd.Function):
    """Attention in bfloat16, for training on a CPU: products of matrices, in parts that stay in a core's cache.

    Fused attention works in float32 there or, backwards, several times slower.
    """

    @staticmethod
    def mix(
        query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, causal: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Return the mixed values (B, H, T, D) and the weights (B, H, T, N)."""
        if causal:
            mask = torch.ones(query.shape[2], keys.shape[2], dtype=torch.bool, device=query.device).tril()
        with torch.autocast("cpu", enabled=False):
            halves = (part.to(torch.bfloat16) for part in (query, keys, values))
            mixed, weights = HalfAttention.apply(*halves, mask)  # type: ignore[no-untyped-call]
        return mixed, weights

    @staticmethod
    def forward(
        ctx: "_Kept", query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        rows, heads, length, width = query.shape
        ctx.count = count = keys.shape[2]
        room = (0, 0, 0, -count % _LANES)  # lines of odd length take twice as long
        query = (query * width**-0.5).reshape(rows * heads, length, width)
        keys, values = (pad(part.reshape(rows * heads, count, width), room) for part in (keys, values))
        weights, mixed = query.new_empty(rows * heads, length, keys.shape[1]), torch.empty_like(query)
        hidden = None if mask is None else _hidden(mask, rows, heads, query.dtype)
        for part in _parts(weights):
            similarity = torch.bmm(query[part], keys[part].transpose(1, 2))
            similarity[..., count:] = -math.inf
            if hidden is not None:
                similarity[..., :count] += hidden[part] if len(hidden) > 1 else hidden
            torch.softmax(similarity, -1, out=weights[part])
            torch.bmm(weights[part], values[part], out=mixed[part])
        ctx.save_for_backward(query, keys, values, weights)
        ctx.set_materialize_grads(False)
        return mixed.view(rows, heads, length, width), weights.view(rows, heads, length, -1)[..., :count]

    @staticmethod
    def backward(ctx: "_Kept", mixed: Tensor, watched: Tensor | None) -> tuple[Tensor, Tensor, Tensor, None]:
        query, keys, values, weights = ctx.saved_tensors
        rows, heads, length, width = mixed.shape
        flat = mixed.reshape(rows * heads, length, width)
        seen = None if watched is None else watched.reshape(rows * heads, length, ctx.count)
        to_query, to_keys, to_values = (torch.empty_like(one) for one in (query, keys, values))
        for part in _parts(weights):
            changes = torch.bmm(flat[part], values[part].transpose(1, 2))
            if seen is not None:
                changes[..., : ctx.count] += seen[part]
            changes = torch._softmax_backward_data(changes, weights[part], -1, weights.dtype)
            torch.bmm(changes, keys[part], out=to_query[part])
            torch.bmm(changes.transpose(1, 2), query[part], out=to_keys[part])
            torch.bmm(weights[part].transpose(1, 2), flat[part], out=to_values[part])
        to_query *= width**-0.5
        shape = rows, heads, -1, width
        to_keys, to_values = (one.view(shape)[:, :, : ctx.count] for one in (to_keys, to_values))
        return to_query.view(shape), to_keys, to_values, None


class _Kept(torch.autograd.function.FunctionCtx):
    """What `HalfAttention` keeps from the way there for the way back."""

    count: int  # of keys, without what fills the last lane
    saved_tensors: tuple[Tensor, Tensor, Tensor, Tensor]

    def set_materialize_grads(self, value: bool) -> None: ...


def _hidden(mask: Tensor, rows: int, heads: int, dtype: torch.dtype) -> Tensor:
    """Return what to add to similarities (B x H or 1, T or 1, N): nothing where they are seen."""
    added = torch.where(mask, 0.0, -math.inf).to(dtype) if mask.dtype == torch.bool else mask.to(dtype)
    if added.dim() == 2:
        return added[None]
    return added.expand(rows, heads, *added.shape[2:]).flatten(0, 1)


def _parts(weights: Tensor) -> list[slice]:
    step = max(1, _CACHED // max(1, weights[0].numel()))
    return [slice(first, first + step) for first in range(0, len(weights), step)]
