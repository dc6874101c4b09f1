"""What is compared: our engines, and transformers with the same weights. Each decodes a given number of tokens."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from measuring.measure import Clock
from unrender.decoding import Engine, beam, greedy
from unrender.decoding.paths import Decoded
from unrender.models.config import TextConfig

if TYPE_CHECKING:
    from transformers import VisionEncoderDecoderModel
    from transformers.modeling_outputs import BaseModelOutput

Pixels = NDArray[np.float32]
_NEVER = -1  # an end token that no model says, so that every text has the length asked for


class Subject(Protocol):
    """One way to read pixels (B, C, H, W) into tokens; every method returns seconds."""

    def time_start(self, pixels: Pixels) -> float:
        """Time the encoder and the first step of the decoder."""
        ...

    def time_decoding(self, pixels: Pixels, tokens: int, beams: int) -> float:
        """Time so many tokens after the first; return the seconds for each."""
        ...


@dataclass
class EngineSubject:
    """One of our engines, with everything our decoding records."""

    config: TextConfig
    engine: Engine
    clock: Clock

    def time_start(self, pixels: Pixels) -> float:
        begin = self.clock()
        self.engine.start(pixels).step(self._prompt(len(pixels)))
        return self.clock() - begin

    def time_decoding(self, pixels: Pixels, tokens: int, beams: int) -> float:
        run = self.engine.start(pixels)
        begin = self.clock()
        prompt = self._prompt(len(pixels))
        if beams > 1:
            beam(run, prompt, beams=beams, end=_NEVER, max_tokens=tokens)
        else:
            greedy(run, prompt, end=_NEVER, max_tokens=tokens)
        return (self.clock() - begin) / tokens

    def read(self, pixels: Pixels, tokens: int) -> list[Decoded]:
        return greedy(self.engine.start(pixels), self._prompt(len(pixels)), end=_NEVER, max_tokens=tokens)

    def _prompt(self, rows: int) -> NDArray[np.int64]:
        return np.tile(np.array(self.config.generation.start, dtype=np.int64), (rows, 1))


class TransformersSubject:
    """A VisionEncoderDecoderModel behind `generate`."""

    def __init__(self, config: TextConfig, model: "VisionEncoderDecoderModel", clock: Clock) -> None:
        self._config, self._clock = config, clock
        self._kept: tuple[Pixels, BaseModelOutput] | None = None
        self.model = model
        model.generation_config.eos_token_id = None
        model.generation_config.forced_eos_token_id = None

    def time_start(self, pixels: Pixels) -> float:
        begin = self._clock()
        self._generate(self._encode(pixels), tokens=1, beams=1)
        return self._clock() - begin

    def time_decoding(self, pixels: Pixels, tokens: int, beams: int) -> float:
        if self._kept is None or self._kept[0] is not pixels:
            self._kept = pixels, self._encode(pixels)
        memory = self._kept[1]
        times = [self._clock()]
        for count in (1, tokens + 1):  # the first step also projects the memory, which is not to count
            self._generate(memory, count, beams)
            times.append(self._clock())
        return (times[2] - times[1] - (times[1] - times[0])) / tokens

    def read(self, pixels: Pixels, tokens: int) -> list[list[int]]:
        """Return the tokens of greedy search."""
        return self._generate(self._encode(pixels), tokens, beams=1)

    def _encode(self, pixels: Pixels) -> "BaseModelOutput":
        import torch

        with torch.inference_mode():
            return self.model.encoder(torch.from_numpy(pixels))

    def _generate(self, memory: "BaseModelOutput", tokens: int, beams: int) -> list[list[int]]:
        import torch

        prompt = torch.full((len(memory.last_hidden_state), 1), self._config.generation.start[0])
        own = type(memory)(
            last_hidden_state=memory.last_hidden_state
        )  # beam search multiplies the rows of what it gets
        outputs = self.model.generate(
            encoder_outputs=own, decoder_input_ids=prompt, num_beams=beams, max_new_tokens=tokens, do_sample=False
        )
        return [row[1:] for row in outputs.tolist()]
