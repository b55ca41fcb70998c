"""A sampler with every option of the bench that is right, and one with a single planted fault for each check."""
# ruff: noqa: ARG001

import time
from contextlib import contextmanager

import torch

KEYS_AND_VALUES = (".key", ".value", ".k_proj", ".v_proj")


@contextmanager
def kept_rows(model, kept_mask, store):
    """While this is open, rows that are not fresh have the keys and values of the pass that computed them last."""

    def hook(name):
        def replace(_, __, output):
            old = store.get(name)
            store[name] = output if old is None else torch.where(kept_mask[None, :, None], old, output)
            return store[name]

        return replace

    modules = [(name, module) for name, module in model.named_modules() if name.endswith(KEYS_AND_VALUES)]
    hooks = [module.register_forward_hook(hook(name)) for name, module in modules]
    try:
        yield
    finally:
        for handle in hooks:
            handle.remove()


def rows_to_keep(cache, size, first, width, *, starts):
    """Rows that a published policy takes from the cache; none in the first pass of a block.

    prefix: what is before the block. dual: what is before and behind it.
    """
    kept_mask = torch.zeros(size, dtype=torch.bool)
    if not starts:
        kept_mask[:first] = True
        kept_mask[first + width :] = cache == "dual"
    return kept_mask


def refreshed(beliefs, x, passes, first):
    """Write every slot anew in every pass."""
    with torch.no_grad():
        for _ in range(passes):
            x[:, first:] = beliefs()[1][:, first:]
    return x


def make(fault=None, cache=None):
    """Return generate; `fault` is the name of the check that it must fail, or None; `cache` is prefix or dual."""

    def generate(
        model,
        tokenizer,
        input_ids,
        *,
        steps,
        mask_token_id,
        block_length=None,
        threshold=0.9,
        editing_threshold=None,
        max_post_steps=16,
        minimal_topk=1,
        attention_mask=None,
        prompt_length=0,
        use_cache=False,
        uniform=False,
    ):
        if fault == "options_have_effect":
            threshold = 0.9
        if fault == "blocks":
            block_length = None
        if fault == "options_agree" and editing_threshold is None and steps <= 4:
            editing_threshold = 0.5  # None is replaced by a default
        x = input_ids if fault == "prompt_kept" else input_ids.clone()
        first = 0 if fault == "mask_in_prompt" else prompt_length
        open_ = x == mask_token_id
        open_[:, :first] = False
        start = first if uniform else int(open_.nonzero()[:, 1].min())
        width = block_length or x.shape[1]
        if fault == "no_mask_left in the last block" and block_length:
            open_[:, start + int(open_[0].sum()) // width * width :] = False
        state = {"t": 0, "last": None}
        when = torch.zeros_like(x)

        def beliefs():
            keywords = {} if attention_mask is None or fault == "padding" else {"attention_mask": attention_mask}
            if keywords and fault == "padding of the first row":
                keywords["attention_mask"] = attention_mask[:1].expand_as(attention_mask)
            if fault == "bidirectional":
                size = x.shape[1]
                causal = torch.ones(size, size, dtype=torch.bool).tril()[None, None].expand(len(x), 1, size, size)
                keywords["attention_mask"] = torch.where(causal, 0.0, -1e4)
            if use_cache and fault == "cache_changes_nothing" and state["t"] == 1:
                state["t"] += 1
                return state["last"]
            if use_cache and cache:
                places = ((x[0] == mask_token_id) & open_[0]).nonzero()[:, 0]
                begin = start + (int(places[0]) - start) // width * width if len(places) else start
                kept_mask = rows_to_keep(cache, x.shape[1], begin, width, starts=begin != state.get("block"))
                state["block"] = begin
                with kept_rows(model, kept_mask, state.setdefault("store", {})):
                    logits = model(x, **keywords).logits
            else:
                logits = model(x, **keywords).logits
            if fault == "dtype":
                logits = torch.from_numpy(logits.numpy())
            logits = logits.float().clone()
            if fault != "mask_never_written":
                logits[..., mask_token_id] = -torch.inf
            if fault == "no_shift":
                logits = logits.roll(1, dims=1)
            state["t"] += 1
            state["last"] = logits.softmax(-1).max(-1)
            if fault == "deterministic symbols":
                symbols = torch.multinomial(logits.softmax(-1).flatten(0, 1), 1).view(x.shape)
                state["last"] = (state["last"].values, symbols)
            return state["last"]

        def writable():
            masked = (x == mask_token_id) & open_
            for row in range(len(x)):
                places = masked[row].nonzero()[:, 0]
                if len(places):
                    block = (int(places[0]) - start) // width
                    masked[row, start + (block + 1) * width :] = False
            return masked

        if uniform:
            return refreshed(beliefs, x, steps - (fault == "uniform_noise"), prompt_length)
        with torch.no_grad():
            while ((x == mask_token_id) & open_).any():
                left = max(1, steps - state["t"])
                confidence, best = beliefs()
                masked = writable()
                chosen = torch.zeros_like(masked)
                for row in range(len(x)):
                    places = masked[row].nonzero()[:, 0]
                    if not len(places):
                        continue
                    waiting = int(((x[row] == mask_token_id) & open_[row]).sum())
                    share = max(1, -(-waiting // left), minimal_topk)
                    if fault == "follows_schedule" and not (confidence[row, places] > threshold).any():
                        share = 2 * share
                    if fault == "follows_schedule in every pass":
                        share = 2 * share
                    if fault == "within_budget where no slot is sure":
                        share = max(1, minimal_topk)
                    tied = confidence[row, places]
                    if fault == "deterministic":
                        tied = tied + 1e-9 * torch.rand(len(places), dtype=torch.float64)
                    ranked = places[torch.argsort(-tied.double().round(decimals=12), stable=True)]
                    count = max(share, int((confidence[row, places] > threshold).sum()))
                    if fault == "terminates" and not (confidence[row, places] > threshold).any() and left > 1:
                        state["t"] = min(state["t"], steps - 2)
                        count = 0
                    if fault == "least_passes" and count > 4 and share == 1:
                        count = 4
                    if fault == "within_budget" and steps < int(open_[row].sum()):
                        count = 1
                    if fault == "batch_rows" and row:
                        count = max(count, int(chosen[0].sum()))
                    chosen[row, ranked[:count]] = True
                    if fault == "order" and (confidence[row, places] > threshold).any():
                        chosen[row, places[0]] = True
                if fault == "no_mask_left" and steps < int(open_[0].sum()):
                    chosen[:, -1] = False
                    if not chosen.any():
                        break
                x[chosen] = best[chosen]
                when[chosen] = state["t"]
            edited, rounds = editing_threshold is not None and fault != "editing", 0
            if fault == "no_idle_pass" or (fault == "no_idle_pass with a cache" and use_cache):
                beliefs()
            while edited and rounds < max_post_steps:
                confidence, best = beliefs()
                wrong = open_ & (best != x) & (confidence > editing_threshold)
                x[wrong], rounds, edited = best[wrong], rounds + 1, bool(wrong.any())
                when[wrong] = state["t"]
        if fault == "step_map_is_true":
            when[:, -1] = 1
            when[:, -2] = 2
        if fault == "batch_rows in another order":
            return x.roll(1, 0), when.roll(1, 0)
        return x, when

    generate.__qualname__ = f"generate with the fault {fault}" if cache is None else f"generate with a {cache} cache"
    return generate


complete = make()


def plain(model, tokenizer, input_ids, *, steps, mask_token_id):
    """A right sampler without options: the surest slots, an even quota."""
    x = input_ids.clone()
    for left in range(steps, 0, -1):
        masked = x == mask_token_id
        if not masked.any():
            break
        with torch.no_grad():
            logits = model(input_ids=x).logits.float()
        logits[..., mask_token_id] = -torch.inf
        confidence, best = logits.softmax(-1).max(-1)
        for row in range(len(x)):
            places = masked[row].nonzero()[:, 0]
            ranked = places[torch.argsort(-confidence[row, places], stable=True)]
            chosen = ranked[: -(-len(places) // left)]
            x[row, chosen] = best[row, chosen]
    return x


def raises(model, tokenizer, input_ids, *, steps, mask_token_id):
    raise RuntimeError("no kernel for this device")


def wrong_shape(model, tokenizer, input_ids, *, steps, mask_token_id):
    return input_ids[:, 1:]


def never_calls(model, tokenizer, input_ids, *, steps, mask_token_id):
    while True:
        time.sleep(0.01)


def never_writes(model, tokenizer, input_ids, *, steps, mask_token_id):
    while (input_ids == mask_token_id).any():
        model(input_ids)
    return input_ids


def swallows(model, tokenizer, input_ids, *, steps, mask_token_id):
    """Never stops, and swallows what should stop it the first time."""
    for _ in range(2):
        try:
            while True:
                time.sleep(0.01)
        except BaseException as stop:
            first = stop
    raise first


def leaves(model, tokenizer, input_ids, *, steps, mask_token_id):
    raise SystemExit(0)


def prints(model, tokenizer, input_ids, *, steps, mask_token_id):
    """Right, and talkative."""
    print("step of", steps)
    return plain(model, tokenizer, input_ids, steps=steps, mask_token_id=mask_token_id)


def changes_the_model(model, tokenizer, input_ids, *, steps, mask_token_id):
    with torch.no_grad():
        model.get_input_embeddings().weight.zero_()
    return plain(model, tokenizer, input_ids, steps=steps, mask_token_id=mask_token_id)


def returning(value):
    """A sampler that returns this function of input_ids."""

    def generate(model, tokenizer, input_ids, *, steps, mask_token_id):
        model(input_ids)
        return value(input_ids)

    return generate


def mutates(model, tokenizer, input_ids, *, steps, mask_token_id):
    """Right, but in the tensor of the caller."""
    input_ids.copy_(plain(model, tokenizer, input_ids, steps=steps, mask_token_id=mask_token_id))
    return input_ids
