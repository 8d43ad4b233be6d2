"""DVF102: encodings that stay on the host."""

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF102"

SILENT = {
    "device map": """
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        model = AutoModelForCausalLM.from_pretrained("x", device_map="auto")
        tok = AutoTokenizer.from_pretrained("x")
        inputs = tok("a", return_tensors="pt")
        out = model.generate(**inputs)
    """,
    "cpu model": """
        import torch
        from transformers import AutoModel, AutoTokenizer
        model = AutoModel.from_pretrained("x")
        tok = AutoTokenizer.from_pretrained("x")
        inputs = tok("a", return_tensors="pt")
        out = model(**inputs)
        other.to("cuda")
    """,
    "moved as statement": """
        import torch
        from transformers import AutoModel, AutoTokenizer
        device = "cuda"
        model = AutoModel.from_pretrained("x").to(device)
        tok = AutoTokenizer.from_pretrained("x")
        inputs = tok("a", return_tensors="pt")
        inputs.to(device)
        out = model(**inputs)
    """,
    "items": """
        import torch
        from transformers import AutoModel, AutoTokenizer
        device = "cuda"
        model = AutoModel.from_pretrained("x").to(device)
        tok = AutoTokenizer.from_pretrained("x")
        inputs = tok("a", return_tensors="pt")
        for k in inputs:
            inputs[k] = inputs[k].to(device)
        out = model(**inputs)
        inputs = tok("a", return_tensors="pt")
        for k, v in inputs.items():
            inputs[k] = v.to(device)
        out = model(**inputs)
        inputs = tok("a", return_tensors="pt")
        out = model(**{k: v.to(device) for k, v in inputs.items()})
        inputs = tok("a", return_tensors="pt")
        inputs = dict((k, v.to(device)) for k, v in inputs.items())
        out = model(**inputs)
        inputs = tok("a", return_tensors="pt")
        input_ids = inputs["input_ids"].to(device)
        mask = inputs.attention_mask.to(device)
        out = model(input_ids=input_ids, attention_mask=mask)
        out = model(inputs["input_ids"].to(device), attention_mask=inputs["attention_mask"].to(model.device))
    """,
    "batches whose items a helper moves": """
        import torch
        from transformers import AutoModel, AutoTokenizer

        def encode(tok, texts):
            batches = []
            for text in texts:
                enc = tok(text, return_tensors="pt")
                batches.append({"input_ids": enc["input_ids"], "attention_mask": enc["attention_mask"]})
            return batches

        def place(batches, device):
            for batch in batches:
                for key in batch:
                    batch[key] = batch[key].to(device)
            return batches

        def score(net, batches):
            return [net(input_ids=batch["input_ids"]) for batch in batches]

        def main(device):
            model = AutoModel.from_pretrained("x").to(device)
            batches = encode(AutoTokenizer.from_pretrained("x"), ["a", "b"])
            batches = place(batches, device)
            score(model, batches)

        main("cuda")
    """,
    "parts that a helper replaces": """
        import torch
        from transformers import AutoModel, AutoTokenizer

        def place(inputs, device):
            for key in inputs:
                inputs[key] = inputs[key].to(device)

        def place_all(batches, device):
            for batch in batches:
                for key in batch:
                    batch[key] = batch[key].to(device)
            return batches

        def main(device):
            model = AutoModel.from_pretrained("x").to(device)
            tok = AutoTokenizer.from_pretrained("x")
            inputs = tok("a", return_tensors="pt")
            place(inputs, device)
            model(**inputs)
            batch = {"input_ids": tok("a", return_tensors="pt")["input_ids"]}
            place(batch, device)
            model(**batch)
            batches = [{"input_ids": tok(text, return_tensors="pt")["input_ids"]} for text in "ab"]
            place_all(batches, device)
            for batch in batches:
                model(**batch)

        main("cuda")
    """,
    "parts replaced": """
        import torch
        from transformers import AutoModel, AutoTokenizer
        device = "cuda"
        model = AutoModel.from_pretrained("x").to(device)
        tok = AutoTokenizer.from_pretrained("x")
        inputs = tok("a", return_tensors="pt")
        inputs["input_ids"] = inputs["input_ids"].to(device)
        inputs["attention_mask"] = inputs["attention_mask"].to(device)
        out = model(**inputs)
    """,
    "helper moves": """
        import torch
        from transformers import AutoModel, AutoTokenizer
        from util import to_gpu
        device = "cuda"
        model = AutoModel.from_pretrained("x").to(device)
        tok = AutoTokenizer.from_pretrained("x")
        inputs = tok("a", return_tensors="pt")
        inputs = to_gpu(inputs)
        out = model(**inputs)
    """,
    "helper in place": """
        import torch
        from transformers import AutoModel, AutoTokenizer
        from util import move_
        device = "cuda"
        model = AutoModel.from_pretrained("x").to(device)
        tok = AutoTokenizer.from_pretrained("x")
        inputs = tok("a", return_tensors="pt")
        move_(inputs, device)
        out = model(**inputs)
    """,
    "model back on cpu": """
        import torch
        from transformers import AutoModel, AutoTokenizer
        model = AutoModel.from_pretrained("x").to("cuda")
        model = model.cpu()
        tok = AutoTokenizer.from_pretrained("x")
        inputs = tok("a", return_tensors="pt")
        out = model(**inputs)
    """,
    "np": """
        import torch
        from transformers import AutoModel, AutoTokenizer
        model = AutoModel.from_pretrained("x").to("cuda")
        tok = AutoTokenizer.from_pretrained("x")
        inputs = tok("a", return_tensors="np")
        out = model(**inputs)
    """,
    "len only": """
        import torch
        from transformers import AutoModel, AutoTokenizer
        model = AutoModel.from_pretrained("x").to("cuda")
        tok = AutoTokenizer.from_pretrained("x")
        n = tok("a", return_tensors="pt").input_ids.shape[1]
        ids = tok("a", return_tensors="pt")["input_ids"].cuda()
        out = model.generate(ids, max_new_tokens=n)
        print(tok.decode(out[0][n:]))
    """,
    "dataset": """
        import torch
        from transformers import AutoTokenizer, AutoModel
        from torch.utils.data import Dataset
        class D(Dataset):
            def __init__(self, texts, device):
                self.tok = AutoTokenizer.from_pretrained("x")
                self.model = AutoModel.from_pretrained("x").to(device)
            def __getitem__(self, i):
                enc = self.tok(self.texts[i], return_tensors="pt")
                return self.model(**enc)
            def __len__(self): return 1
    """,
    "class, model by device_map": """
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        class LLM:
            def __init__(self, name, device="cuda"):
                self.model = AutoModelForCausalLM.from_pretrained(name, device_map=device)
                self.tok = AutoTokenizer.from_pretrained(name)
                self.device = device
            def gen(self, t):
                x = self.tok(t, return_tensors="pt")
                return self.model.generate(**x)
    """,
    "pipeline": """
        import torch
        from transformers import pipeline, AutoTokenizer
        pipe = pipeline("text-generation", device=0)
        tok = AutoTokenizer.from_pretrained("x")
        x = tok("a", return_tensors="pt")
        pipe.model.to("cuda")
        pipe("hello")
    """,
    "quantized": """
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig
        model = AutoModelForCausalLM.from_pretrained("x", quantization_config=BitsAndBytesConfig(load_in_4bit=True))
        tok = AutoTokenizer.from_pretrained("x")
        y = tok("b", return_tensors="pt")
        out2 = model(**y)
    """,
    "peft": """
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from peft import PeftModel
        base = AutoModelForCausalLM.from_pretrained("x", device_map={"": 0})
        model = PeftModel.from_pretrained(base, "y")
        tok = AutoTokenizer.from_pretrained("x")
        x = tok("a", return_tensors="pt")
        x = {k: v.cuda() for k, v in x.items()}
        model.generate(**x)
    """,
    "sentence embedding mean pooling": """
        import torch
        from transformers import AutoModel, AutoTokenizer
        device = torch.device("cuda")
        def mean_pooling(model_output, attention_mask):
            emb = model_output[0]
            m = attention_mask.unsqueeze(-1).expand(emb.size()).float()
            return torch.sum(emb * m, 1) / torch.clamp(m.sum(1), min=1e-9)
        model = AutoModel.from_pretrained("x").to(device)
        tok = AutoTokenizer.from_pretrained("x")
        enc = tok(["a"], padding=True, return_tensors="pt").to(device)
        with torch.no_grad():
            out = model(**enc)
        e = mean_pooling(out, enc["attention_mask"])
        e2 = mean_pooling((out[0].cpu(),), enc["attention_mask"].cpu())
    """,
    "images processor": """
        import torch
        from transformers import CLIPModel, CLIPProcessor
        device = "cuda" if torch.cuda.is_available() else "cpu"
        model = CLIPModel.from_pretrained("x").to(device)
        proc = CLIPProcessor.from_pretrained("x")
        inputs = proc(text=["a"], images=im, return_tensors="pt", padding=True).to(device)
        out = model(**inputs)
        px = proc(images=im, return_tensors="pt").pixel_values
        px = px.to(device)
        model.get_image_features(px)
    """,
    "labels on host compared": """
        import torch
        from transformers import AutoModel, AutoTokenizer
        model = AutoModel.from_pretrained("x").to("cuda")
        tok = AutoTokenizer.from_pretrained("x")
        enc = tok("a", return_tensors="pt")
        ids = enc.input_ids
        out = model(ids.cuda()).logits.argmax(-1).cpu()
        acc = (out == ids).float().mean()
    """,
    "conditional move": """
        import torch
        from transformers import AutoModel, AutoTokenizer
        model = AutoModel.from_pretrained("x")
        tok = AutoTokenizer.from_pretrained("x")
        if torch.cuda.is_available():
            model.to("cuda")
            model.train()
        enc = tok("a", return_tensors="pt")
        if torch.cuda.is_available():
            enc = enc.to("cuda")
        out = model(**enc)
    """,
    "conditional move both in one": """
        import torch
        from transformers import AutoModel, AutoTokenizer
        model = AutoModel.from_pretrained("x")
        tok = AutoTokenizer.from_pretrained("x")
        enc = tok("a", return_tensors="pt")
        if args.gpu:
            model = model.cuda()
            enc = {k: v.cuda() for k, v in enc.items()}
        out = model(**enc)
    """,
    "conditional both else": """
        import torch
        from transformers import AutoModel, AutoTokenizer
        def run(device=None):
            model = AutoModel.from_pretrained("x")
            tok = AutoTokenizer.from_pretrained("x")
            enc = tok("a", return_tensors="pt")
            if device is not None:
                model = model.to(device)
                enc = enc.to(device)
            return model(**enc)
    """,
    "model param and device of enc": """
        import torch
        from transformers import AutoTokenizer
        def encode(model, tok, texts):
            enc = tok(texts, return_tensors="pt")
            enc = {k: v.to(next(model.parameters()).device) for k, v in enc.items()}
            return model(**enc)
    """,
    "wrapper class moving in forward": """
        import torch
        from torch import nn
        from transformers import AutoModel, AutoTokenizer
        class Enc(nn.Module):
            def __init__(self):
                super().__init__()
                self.tok = AutoTokenizer.from_pretrained("x")
                self.model = AutoModel.from_pretrained("x")
            def forward(self, texts):
                enc = self.tok(texts, return_tensors="pt", padding=True)
                enc = enc.to(self.model.device)
                return self.model(**enc).last_hidden_state
    """,
    "two returns": """
        import torch
        from transformers import AutoModel, AutoTokenizer
        model = AutoModel.from_pretrained("x").to("cuda")
        tok = AutoTokenizer.from_pretrained("x")
        def encode(t, dev=None):
            e = tok(t, return_tensors="pt")
            return e if dev is None else e.to(dev)
        x = encode("a", "cuda")
        model(**x)
    """,
    "pop / update / filtering": """
        import torch
        from transformers import AutoModel, AutoTokenizer
        device = torch.device("cuda")
        model = AutoModel.from_pretrained("x").to(device)
        tok = AutoTokenizer.from_pretrained("x")
        e = tok("t", return_tensors="pt")
        e.pop("token_type_ids")
        e = e.to(device)
        model(**e)
        f = tok("t", return_tensors="pt")
        f = {k: v for k, v in f.items() if k in ("input_ids",)}
        f = {k: v.to(device) for k, v in f.items()}
        model(**f)
    """,
    "map to": """
        import torch
        from transformers import AutoModel, AutoTokenizer
        device = torch.device("cuda")
        model = AutoModel.from_pretrained("x").to(device)
        tok = AutoTokenizer.from_pretrained("x")
        ids, mask = tok("t", return_tensors="pt").to(device).values()
        model(ids, mask)
        e = tok("t", return_tensors="pt")
        ids, mask = map(lambda t: t.to(device), e.values())
        model(ids, mask)
        ids, mask = (e[k].to(device) for k in ("input_ids", "attention_mask"))
        model(ids, mask)
    """,
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_is_silent(rule, program: str) -> None:
    assert rule.findings(program) == ()


HEAD = """import torch
from transformers import AutoModel, AutoTokenizer

device = torch.device("cuda")
model = AutoModel.from_pretrained("m").to(device)
tokenizer = AutoTokenizer.from_pretrained("m")
"""


def test_what_is_quantized_is_where_its_other_inputs_are(rule) -> None:
    program = """
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig
        model = AutoModelForCausalLM.from_pretrained("x", quantization_config=BitsAndBytesConfig(load_in_4bit=True))
        tok = AutoTokenizer.from_pretrained("x")
        x = tok("a", return_tensors="pt").to("cuda")
        y = tok("b", return_tensors="pt")
        print(model(**x), model(**y))
    """
    assert 'y = tok("b", return_tensors="pt").to("cuda")' in rule.fixed(program, unsafe=True)


@pytest.mark.parametrize(("moved", "written"), [("cuda()", '.to("cuda")'), ("cuda(device=dev)", ".to(dev)")])
def test_as_another_that_goes_by_cuda(rule, moved: str, written: str) -> None:
    program = f"""
        from transformers import AutoTokenizer
        def both(model, dev):
            tok = AutoTokenizer.from_pretrained("x")
            model = model.{moved}
            y = tok("b", return_tensors="pt")
            return model(**y)
    """
    assert f'y = tok("b", return_tensors="pt"){written}' in rule.fixed(program, unsafe=True)


FIXES = {
    "where it is made": (
        'inputs = tokenizer("a", return_tensors="pt")\nout = model(**inputs)\n',
        'inputs = tokenizer("a", return_tensors="pt").to(device)\nout = model(**inputs)\n',
    ),
    "over several lines": (
        'x = tokenizer(\n    "a",\n    return_tensors="pt",  # tensors\n)\nout = model.generate(**x)\n',
        'x = tokenizer(\n    "a",\n    return_tensors="pt",  # tensors\n).to(device)\nout = model.generate(**x)\n',
    ),
    "a part, where it is taken": (
        'ids = tokenizer("a", return_tensors="pt").input_ids\nout = model.generate(ids)\n',
        'ids = tokenizer("a", return_tensors="pt").to(device).input_ids\nout = model.generate(ids)\n',
    ),
    "the bare tensor of encode": (
        'ids = tokenizer.encode("a", return_tensors="pt")\nout = model.generate(ids)\n',
        'ids = tokenizer.encode("a", return_tensors="pt").to(device)\nout = model.generate(ids)\n',
    ),
    "in the call": (
        'out = model(**tokenizer("a", return_tensors="pt"))\n',
        'out = model(**tokenizer("a", return_tensors="pt").to(device))\n',
    ),
    "all of it, for the forgotten part": (
        (
            'e = tokenizer("a", return_tensors="pt")\n'
            'out = model(e["input_ids"].to(device), attention_mask=e["attention_mask"])\n'
        ),
        (
            'e = tokenizer("a", return_tensors="pt").to(device)\n'
            'out = model(e["input_ids"].to(device), attention_mask=e["attention_mask"])\n'
        ),
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES)
def test_moves_the_encoding(rule, before: str, after: str) -> None:
    assert rule.fixed(HEAD + before) == HEAD + after


def test_one_move_for_all_uses(rule) -> None:
    program = HEAD + 'x = tokenizer("a", return_tensors="pt")\na = model(**x)\nb = model(**x)\n'
    assert rule.fixed(program).count(".to(device)") == 2


def test_the_device_of_the_object(rule) -> None:
    program = """
        import torch
        from transformers import AutoModel, AutoTokenizer
        class Encoder:
            def __init__(self, device):
                self.device = device
                self.model = AutoModel.from_pretrained("m").to(device)
                self.tokenizer = AutoTokenizer.from_pretrained("m")
            def run(self, texts):
                encoded = self.tokenizer(texts, padding=True, return_tensors="pt")
                return self.model(**encoded)
    """
    assert 'return_tensors="pt").to(self.device)\n' in rule.fixed(program, unsafe=True)


def test_the_finding_names_the_birth_and_the_use(rule) -> None:
    finding = rule.finding(HEAD + 'inputs = tokenizer("a", return_tensors="pt")\nout = model(**inputs)\n')
    assert finding.message == (
        "`tokenizer('a', return_tensors='pt')` stays on the host, but meets the parameters of `model` on `device`"
    )
    assert (finding.origin.line, finding.span.line) == (7, 8)
    assert [one.note for one in finding.trail] == [
        "`tokenizer('a', return_tensors='pt')` is made here, on the host",
        "it meets the parameters of `model` here",
        "`AutoModel.from_pretrained('m')` is moved here",
    ]
    assert finding.fix.safety is Safety.SAFE


def test_columns_after_wide_characters(rule) -> None:
    line = 'größe = "äöü"; x = tokenizer("ß", return_tensors="pt"); y = model(**x)\r\n'
    program = (HEAD.replace("\n", "\r\n") + line).encode()
    assert rule.fixed(program).endswith(line.replace('"pt")', '"pt").to(device)'))


@pytest.mark.parametrize(
    "call",
    [
        "self.model.generate(input_ids=ids.to(self.model.device), attention_mask=mask.to(self.model.device))",
        "self.model.generate(input_ids=ids, attention_mask=mask)",
        "self.model.generate(input_ids=ids.to(torch.long), attention_mask=moved)",
    ],
)
def test_masks_that_need_no_move(rule, call):
    program = f"""
        import torch
        return_tensors = "pt"
        def forward(self, inputs):
            x = tokenizer("a", return_tensors="pt").to("cuda")
            ids, mask = inputs["input_ids"], inputs["mask"]
            moved = inputs["mask"].to(self.model.device)
            return {call}
    """
    assert rule.findings(program) == ()


# Models that a class holds

HOLDER = """
    import torch
    class Embedder:
        def __init__(self, model, tokenizer, device=None):
            self.tokenizer = tokenizer
            self.model = model
            if device is not None:
                self.device = device
                {move}
            else:
                self.device = self.model.device
        def embed(self, text):
            encoded = {made}
            {between}
            with torch.no_grad():
                return {call}
"""
MOVED = "self.model = self.model.to(device)"
MADE = 'self.tokenizer(text, return_tensors="pt")'


@pytest.mark.parametrize(
    ("move", "made", "between", "call"),
    [
        ("pass", MADE, "pass", "self.model(**encoded)"),
        ("self.other.to(device)", MADE, "pass", "self.model(**encoded)"),
        (MOVED, MADE, "encoded.to(self.device)", "self.model(**encoded)"),
        (MOVED, MADE, "encoded = encoded.to(self.device)", "self.model(**encoded)"),
        (MOVED, MADE, "encoded = to_device(encoded, self.device)", "self.model(**encoded)"),
        (MOVED, MADE, "encoded = {k: v.to(self.device) for k, v in encoded.items()}", "self.model(**encoded)"),
        (MOVED, MADE, "pass", 'self.model(encoded["input_ids"].to(self.device))'),
        (MOVED, MADE, "pass", "self.model(**{k: v.to(self.device) for k, v in encoded.items()})"),
        (MOVED, MADE, "pass", "self.judge(encoded)"),
        (MOVED, 'self.tokenizer(text, return_tensors="np")', "pass", "self.model(**encoded)"),
    ],
)
def test_encodings_for_models_of_a_class_that_need_no_move(rule, move, made, between, call) -> None:
    assert rule.findings(HOLDER.format(move=move, made=made, between=between, call=call)) == ()


@pytest.mark.parametrize("between", ["pass", "index = torch.tensor(encoded.word_ids()).to(self.device)"])
@pytest.mark.parametrize("call", ["self.model(**encoded)", 'self.model(encoded["input_ids"])'])
def test_an_encoding_for_the_model_that_a_class_moves(rule, between, call) -> None:
    program = HOLDER.format(move=MOVED, made=MADE, between=between, call=call)
    assert f"encoded = {MADE}.to(self.device)\n" in rule.unchanged_unless_unsafe(program)


TOKENS = """
    import torch
    from clip import tokenize
    def embed(clip, text, device):
        tokens = tokenize(text).to(device)
        return clip.embed_text(tokens)
    def judge(clip, text, {parameter}):
        tokens = {made}
        {between}
        return {call}
"""


@pytest.mark.parametrize(
    ("parameter", "made", "between", "call"),
    [
        ("device", "tokenize(text).to(device)", "pass", "clip.embed_text(tokens)"),
        ("device", "tokenize(text)", "tokens = tokens.to(device)", "clip.embed_text(tokens)"),
        ("device", "tokenize(text)", "pass", "clip.count(tokens)"),
        ("device", "clip.tokenize(text)", "pass", "clip.embed_text(tokens)"),
        ("device", "tokenize(text)", "pass", "clip.embed_text(tokens.to(device))"),
        ("where", "tokenize(text)", "pass", "clip.embed_text(tokens)"),
    ],
)
def test_tokens_that_go_elsewhere_or_are_moved(rule, parameter, made, between, call) -> None:
    assert rule.findings(TOKENS.format(parameter=parameter, made=made, between=between, call=call)) == ()


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        ("device", "tokens = tokenize(text).to(device)"),
        ("device=None", "tokens = tokenize(text).to(device)"),
    ],
)
def test_tokens_that_are_moved_in_another_function(rule, parameter, expected) -> None:
    program = TOKENS.format(parameter=parameter, made="tokenize(text)", between="pass", call="clip.embed_text(tokens)")
    fixed = rule.unchanged_unless_unsafe(program)
    assert f"    {expected}\n    pass\n" in fixed


BY_HAND = """
    import torch
    from models import GPT
    def to_ids(text, tokenizer{parameter}):
        encoded = {encoded}
        return torch.tensor(encoded{placed}).unsqueeze(0)
    def generate(model, ids):
        for _ in range(5):
            logits = model(ids[:, -8:])
            ids = torch.cat((ids, logits[:, -1, :].argmax(dim=-1, keepdim=True)), dim=1)
        return ids
    def main(text, tokenizer):
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = GPT()
        {move}
        model.eval()
        {ids}
        return generate(model=model, ids={given})
"""
TO_IDS = "to_ids(text, tokenizer)"
BY_CODE = "tokenizer.encode(text)"


@pytest.mark.parametrize(
    ("parameter", "encoded", "placed", "move", "ids", "given"),
    [
        ("", BY_CODE, "", "pass", "pass", TO_IDS),
        ("", BY_CODE, "", "model.to(device)", "pass", f"{TO_IDS}.to(device)"),
        ("", BY_CODE, "", "model.to(device)", f"ids = {TO_IDS}", "ids.to(device)"),
        ("", BY_CODE, "", "model.to(device)", f"ids = {TO_IDS}.to(device)", "ids"),
        (", device='cuda'", BY_CODE, ", device=device", "model.to(device)", "pass", TO_IDS),
        ("", "[1, 2]", "", "model.to(device)", "pass", TO_IDS),
    ],
)
def test_encodings_by_hand_that_need_no_move(rule, parameter, encoded, placed, move, ids, given) -> None:
    program = BY_HAND.format(parameter=parameter, encoded=encoded, placed=placed, move=move, ids=ids, given=given)
    assert rule.findings(program) == ()


def test_a_helper_that_puts_nothing_into_the_encoding(rule):
    program = """
        import torch
        from transformers import AutoModel, AutoTokenizer

        def show(inputs):
            for key in inputs:
                print(key, inputs[key].shape)
            inputs = None

        def main(device):
            model = AutoModel.from_pretrained("x").to(device)
            inputs = AutoTokenizer.from_pretrained("x")("a", return_tensors="pt")
            show(inputs)
            model(**inputs)

        main("cuda")
    """
    assert 'return_tensors="pt").to(device)\n' in rule.fixed(program)


def test_the_device_of_a_model_is_declared_for_the_maker_of_the_encoding(rule):
    program = """
        import torch
        from transformers import AutoModel, AutoTokenizer

        def encode(tok, texts):
            return [tok(text, return_tensors="pt") for text in texts]

        def score(net, batches):
            return [net(**batch).logits.to(net.device) for batch in batches]

        def main():
            model = AutoModel.from_pretrained("x")
            model.to("cuda" if torch.cuda.is_available() else "cpu")
            score(model, encode(AutoTokenizer.from_pretrained("x"), ["a", "b"]))

        main()
    """
    moved = '[tok(text, return_tensors="pt").to(device) for text in texts]'
    assert moved in rule.unchanged_unless_unsafe(program)


HELD = """
    import torch
    from abc import ABC

    class Base(ABC):
        def __init__(self, parts):
            for key, value in parts.items():
                setattr(self, key, value)

    class Other(Base):
        def generate(self, ids):
            self.device = torch.device("cpu")
            return self.forward(ids.to(self.device))

    class Generator(Base):
        def forward(self, ids):
            return self.net.run(ids)

        def generate(self, ids):
            {set}
            return self.forward(ids)

        def complete(self, tokenizer, text):
            ids = tokenizer(text, return_tensors="pt").input_ids
            return self.generate(ids)
"""


@pytest.mark.parametrize("line", ['self.device = torch.device("cpu")', "self.device = ids.device", "pass"])
def test_a_device_that_the_class_is_not_seen_to_have(rule, line):
    assert rule.findings(HELD.format(set=line)) == ()


GIVEN_MODEL = """
    from transformers import PreTrainedModel, PreTrainedTokenizer
    class Writer:
        def __init__(self, model: {kind}, tokenizer: PreTrainedTokenizer):
            self.model, self.tokenizer = model, tokenizer
        def write(self, prompt):
            return self.model.generate(self.tokenizer.encode(prompt{tensors}), max_new_tokens=3)
"""


def test_what_a_model_gets_that_a_caller_has_placed(rule) -> None:
    program = GIVEN_MODEL.format(kind="PreTrainedModel", tensors=', return_tensors="pt"')
    assert 'return_tensors="pt").to(self.model.device), max' in rule.unchanged_unless_unsafe(program)


@pytest.mark.parametrize("kind", ["PreTrainedModel", "str"])
def test_lists_that_a_model_gets_that_a_caller_has_placed(rule, kind: str) -> None:
    assert rule.findings(GIVEN_MODEL.format(kind=kind, tensors="")) == ()


def test_a_tokenizer_that_may_have_the_name_of_its_model_is_none(rule) -> None:
    program = """
        from transformers import AutoModel, AutoTokenizer
        class Words:
            def __init__(self, model, tokenizer=None, device=None):
                if isinstance(model, str):
                    if tokenizer is None:
                        tokenizer = model
                    model = AutoModel.from_pretrained(model)
                    if isinstance(tokenizer, str):
                        tokenizer = AutoTokenizer.from_pretrained(tokenizer)
                self.model, self.tokenizer = model, tokenizer
                self.device = device
                self.model = self.model.to(device)
            def vectors(self, words):
                encoded = self.tokenizer.encode_plus(words, return_tensors="pt")
                output = self.model(**self._placed(encoded))
                return output.last_hidden_state
            def _placed(self, encoded):
                return {k: v.to(self.device) for k, v in encoded.items()}
    """
    assert rule.findings(program) == ()
