"""Config × folder → a trained network: batches until it has converged, or until steps or CPU seconds are over.

    batch i depends on (seed, i) alone        a run that is killed continues from its checkpoint to the same numbers
    every `evaluate_every` batches            accuracy on fresh words; above `converged`, on more of them; then it ends
    at the end                                accuracy on JUDGED words that influenced no decision

`accelerate launch` runs it unchanged in several processes: each takes its part of every batch, and all see one folder.
Seconds are CPU seconds of this process, so a busy machine does not change what succeeds.
"""

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec
import torch
from torch import Tensor

from unmask.errors import FolderError, TooLarge, UnmaskError
from unmask.lab.checkpoints import (
    TrainingMoment,
    TrainingProgress,
    check_folder,
    finish_run,
    open_folder,
    resume,
    save_checkpoint,
)
from unmask.lab.memory_estimates import NUMBER, training_memory, weights_of
from unmask.lab.settings import Config
from unmask.lab.task_layouts import MOST_ROWS
from unmask.lab.task_sources import Stream
from unmask.lab.tasks import LabTask
from unmask.lab.trained_model import Trained, accuracy
from unmask.lab.trained_network import TrainedNetwork
from unmask.lab.training_batches import Batch, NetworkWithLoss, training_batch
from unmask.limits import check, check_memory
from unmask.problems.program_problems import ProgramProblem

# Freed tensors stay with the process: the C library would return them and ask for the same pages in every batch.
#
# On Linux that took 40 % of the CPU time of a run. No number of a run depends on it; another C library is left alone.


M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3  # of <malloc.h>
LARGEST_INT = 2**31 - 1
LARGEST_THRESHOLD = 1 << 25  # the largest value that the C library accepts
HEAP_GROWTH = 1 << 26  # bytes


def keep_freed_memory() -> None:
    """Let tensors of up to 32 MiB come from a heap that is not trimmed and grows 64 MiB at a time."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, TypeError, AttributeError):
        return
    settings = {M_MMAP_THRESHOLD: LARGEST_THRESHOLD, M_TRIM_THRESHOLD: LARGEST_INT, M_TOP_PAD: HEAP_GROWTH}
    for setting, value in settings.items():
        mallopt(ctypes.c_int(setting), ctypes.c_int(value))


# Besides the config, the last digits of a run depend on the versions and the instructions that torch uses here.


def library_versions() -> dict[str, str]:
    return {
        "unmask": version("unmask"),
        "torch": torch.__version__,
        "instructions": torch.backends.cpu.get_cpu_capability(),
    }


BETAS, DECAY, CLIP = (0.9, 0.99), 0.01, 1.0
WATCHED, WATCHED_AGAIN, JUDGED = 128, 512, 1000
MARGIN = 0.02  # below `converged`: from here on, more words are evaluated

GENERATOR_LOCK = Lock()

ShowMoment = Callable[[TrainingMoment], None]


@dataclass(frozen=True, eq=False)
class TrainingRun:
    """The result of a run: the model, its progress, and the share of right answers on fresh words."""

    trained: Trained
    progress: TrainingProgress
    right: float
    processes: int = 1

    @cached_property
    def chance(self) -> float:
        return self.trained.task.source.chance(self.trained.length)

    def to_json(self) -> dict[str, Any]:
        return {
            "right": self.right,
            "words": JUDGED,
            "chance": self.chance,
            "steps": self.progress.step,
            "cpu_seconds": round(self.progress.cpu_seconds, 2),
            "ended": self.progress.ended,
            "processes": self.processes,
            "made_by": library_versions(),
            "parameters": sum(p.numel() for p in self.trained.network.parameters()),
            "history": [msgspec.to_builtins(moment) for moment in self.progress.history],
        }


def train(
    config: Config,
    folder: Path | None = None,
    *,
    program: ProgramProblem | None = None,
    device: str | None = None,
    told: ShowMoment | None = None,
) -> TrainingRun:
    """Train, or continue from the folder's checkpoint; a finished run is loaded, not repeated."""
    keep_freed_memory()
    accelerator = _accelerator(device)
    task = config.task_of(program)
    if task.rows > MOST_ROWS:
        raise TooLarge(
            f"the lab supports at most {MOST_ROWS} rows, but {config.name} has {task.rows}; use a shorter length"
        )
    if folder is not None and program is not None and not program.sha256:
        raise UnmaskError(f"{program.name} is not in a file, so a folder cannot refer to it; train it without a folder")
    if config.objective != "canvas" and not task.written_once:
        raise UnmaskError(
            f"random masking needs slots that are written once, but {config.problem} rewrites slots; use the "
            "objective canvas"
        )
    if config.batch % accelerator.num_processes:
        processes = accelerator.num_processes
        raise UnmaskError(
            f"a batch of {config.batch} cannot be divided evenly among {processes} processes; change the batch size"
        )
    check_memory(training_memory(config, task), f"training {config.name}")
    network = new_network(config, task).to(accelerator.device)
    optimizer = new_optimizer(config, network)
    if folder is not None:
        check_folder(folder, config)  # by every process, so that all of them refuse
        accelerator.wait_for_everyone()
        if accelerator.is_main_process:
            open_folder(folder, config)
        accelerator.wait_for_everyone()
        progress = resume(folder, config, network, optimizer)
    else:
        progress = TrainingProgress()
    scored: torch.nn.Module = NetworkWithLoss(network)
    if accelerator.num_processes > 1:
        scored = accelerator.prepare_model(scored)
    trained = Trained(task, network, config)
    trainer = Trainer(trained, scored, optimizer, accelerator)
    while progress.ended is None:
        check()
        progress = trainer.train_until_evaluation(progress)
        if folder is not None and accelerator.is_main_process:
            save_checkpoint(folder, config, network, optimizer, progress)
        if told is not None and accelerator.is_main_process:
            told(progress.history[-1])
    network.eval()
    right = accuracy(trained, JUDGED, seed=config.seed, stream=Stream.judging).right
    run = TrainingRun(trained, progress, right, accelerator.num_processes)
    if folder is not None and accelerator.is_main_process:
        finish_run(folder, config, network, run.to_json())
    accelerator.wait_for_everyone()
    return run


def new_network(config: Config, task: LabTask) -> TrainedNetwork:
    """Return the network of a seed, drawn without changing the global generator; threads draw one after another."""
    with GENERATOR_LOCK, torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        return TrainedNetwork(config.shape, len(task.vocabulary), task.fetches)


def new_optimizer(config: Config, network: TrainedNetwork) -> torch.optim.Optimizer:
    return torch.optim.AdamW(network.parameters(), lr=config.rate, betas=BETAS, weight_decay=DECAY, fused=True)


def train_without_evaluation(config: Config, network: TrainedNetwork, task: LabTask) -> None:
    """Train on the batches of a run for all of its steps, without evaluation."""
    trainer = Trainer(
        Trained(task, network, config), NetworkWithLoss(network), new_optimizer(config, network), _accelerator("cpu")
    )
    for step in range(config.steps):
        trainer.learn(step)


@dataclass(frozen=True, eq=False)
class Trainer:
    """The network with its loss, its optimiser, and the processes that share the work."""

    trained: Trained
    scored: torch.nn.Module
    optimizer: torch.optim.Optimizer
    accelerator: Any

    def train_until_evaluation(self, progress: TrainingProgress) -> TrainingProgress:
        """Train on `evaluate_every` batches, then evaluate on the watched words."""
        clock = time.process_time if torch.get_num_threads() > 1 else time.thread_time  # others can run meanwhile
        config, began, before = self.trained.config, clock(), progress.cpu_seconds
        step, loss = progress.step, torch.zeros(())
        last = min(config.steps, step + config.evaluate_every)
        while step < last:
            check()
            loss = self.learn(step)
            step += 1
        right = self.evaluate(step)
        spent = self._agreed(before + clock() - began)
        ended = None
        if config.converged is not None and right >= config.converged:
            ended = "converged"
        elif step >= config.steps:
            ended = "steps"
        elif spent >= config.cpu_seconds:
            ended = "seconds"
        moment = TrainingMoment(step, round(self._agreed(float(loss)), 6), right, round(spent, 2))
        return TrainingProgress(step, spent, (*progress.history, moment), ended)

    def learn(self, step: int) -> Tensor:
        """Train on one batch."""
        config, task, processes = self.trained.config, self.trained.task, self.accelerator.num_processes
        for group in self.optimizer.param_groups:
            group["lr"] = config.rate * rate_factor(step + 1, config)
        batch = training_batch(task, config, step, process=self.accelerator.process_index, processes=processes)
        self.optimizer.zero_grad()
        loss = self.loss(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.trained.network.parameters(), CLIP)
        self.optimizer.step()
        return loss.detach()

    def loss(self, batch: Batch) -> Tensor:
        device = self.accelerator.device
        tokens, steps, targets, operands = (
            torch.from_numpy(array).to(device) for array in (batch.tokens, batch.steps, batch.targets, batch.operands)
        )
        weights = torch.from_numpy(batch.weights).float().to(device)
        places = self.trained.places.at(steps, tokens.shape[1])
        latent, supervised_rows = self.trained.config.latent, self.trained.task.supervised_rows
        return self.scored(tokens, places, targets, operands, weights, latent, supervised_rows)

    def evaluate(self, step: int) -> float:
        """Return the share of right answers: on few words, and on more if training seems to have converged."""
        config = self.trained.config
        self.trained.network.eval()
        right = 0.0
        for count in (WATCHED, WATCHED_AGAIN):
            right = accuracy(self.trained, count, seed=config.seed, stream=Stream.watching, number=step).right
            if config.converged is None or right < config.converged - MARGIN:
                break
        self.trained.network.train()
        return right

    def _agreed(self, value: float) -> float:
        """Return the mean over processes, so that all make the same decision."""
        if self.accelerator.num_processes == 1:
            return value
        return float(
            self.accelerator.reduce(torch.tensor([value], device=self.accelerator.device), reduction="mean")[0]
        )


def rate_factor(step: int, config: Config) -> float:
    """Return the factor of the learning rate: it rises over `warmup` steps, and falls like 1/√step from `decay` on."""
    return min(1.0, step / max(1, config.warmup), (config.decay / step) ** 0.5)


def _accelerator(device: str | None) -> Any:
    try:
        from accelerate import Accelerator
    except ImportError:
        raise UnmaskError("the lab needs accelerate; install it with `pip install 'unmask[lab]'`") from None
    torch.use_deterministic_algorithms(True, warn_only=True)
    if device is None:
        return Accelerator()
    if device == "cpu":
        return Accelerator(cpu=True)
    if device != "cuda" or not torch.cuda.is_available():
        raise UnmaskError(f"--device takes cpu, or cuda where torch finds one, not {device!r}")
    return Accelerator()


def load_trained(folder: Path, program: ProgramProblem | None = None) -> Trained:
    """Load the model of a folder that `train` wrote; a program is passed again, since the folder does not store it."""
    from unmask.lab.checkpoints import CONFIG, load_weights
    from unmask.lab.settings import read_run_config

    if not (folder / CONFIG).is_file():
        raise FolderError(f"{folder} is not a folder of `unmask lab train`: it has no {CONFIG}; check the path")
    config = read_run_config(folder / CONFIG)
    task = config.task_of(program)
    check_memory(2 * NUMBER * weights_of(config.shape, len(task.vocabulary), task.fetches), f"the network of {folder}")
    network = new_network(config, task)
    load_weights(folder, config, network)
    return Trained(task, network.eval(), config)
