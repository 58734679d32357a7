//! Packages of which each release goes with one torch: what is there stays, and what is not brings the torch of its newest
//! release.

use imagelint::knowledge::Knowledge;
use jiff::civil::date;

use crate::torch::{PY311, PYTORCH, WHL, check, torch};

#[test]
fn a_companion_that_is_not_there_replaces_torch() {
    let first = format!("{PY311}RUN pip install torch==2.3.1 --index-url {WHL}/cu121\n");
    let both = format!("{PY311}RUN pip install torch==2.3.1 torchvision==0.18.1 --index-url {WHL}/cu121\n");
    let ubuntu = format!(
        "FROM nvidia/cuda:12.1.1-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n\
         RUN pip install torch==2.3.1 --index-url {WHL}/cu121\n"
    );
    check(
        &[
            (format!("{first}RUN pip install torchvision"), "2.15.0 13.2"),
            (format!("{first}RUN pip install timm"), "2.15.0 13.2"),
            (format!("{first}RUN pip install ultralytics==8.4.190"), "2.15.0 13.2"),
            (format!("{first}RUN uv pip install --system easyocr"), "2.15.0 13.2"),
            (format!("{first}RUN pip install 'torchvision>=0.19,<0.21'"), "2.5.1 12.4"),
            (format!("{both}RUN pip install -U torchvision"), "2.15.0 13.2"),
            (format!("{both}RUN pip uninstall -y torchvision && pip install timm"), "2.15.0 13.2"),
            // The newest torch of Python 3.10 and of an index.
            (format!("{ubuntu}RUN pip install timm"), "2.14.1 13.0"),
            (format!("{first}RUN pip install torchvision --index-url {WHL}/cu121"), "2.5.1 12.1"),
            // It is there, goes with what is named beside it, or asks for none.
            (format!("{both}RUN pip install torchvision"), "2.3.1 12.1"),
            (format!("{both}RUN pip install timm"), "2.3.1 12.1"),
            (format!("{both}RUN pip install -U timm"), "2.3.1 12.1"),
            (format!("{both}RUN pip install 'torchvision>=0.18'"), "2.3.1 12.1"),
            (format!("{first}RUN pip install torchvision==0.18.1"), "2.3.1 12.1"),
            (format!("{first}RUN pip install --no-deps torchvision"), "2.3.1 12.1"),
            (format!("{first}RUN pip install --no-deps timm"), "2.3.1 12.1"),
            (format!("{first}RUN pip install torch==2.3.1 torchvision"), "2.3.1 12.1"),
            (format!("{first}RUN pip install openai-whisper"), "2.3.1 12.1"),
            (format!("{first}RUN pip install torchaudio"), "2.3.1 12.1"),
            (format!("{first}RUN pip install transformers"), "2.3.1 12.1"),
            (format!("{first}RUN python -m venv /v && /v/bin/pip install flask"), "2.3.1 12.1"),
        ],
        "linux/amd64",
    );
}

#[test]
fn what_a_base_with_torch_has_beside_it_stays() {
    let unread = "FROM registry.example.com/ml/base:7\nRUN pip install torch==2.3.1+cu121\n";
    check(
        &[
            (format!("{PYTORCH}RUN pip install timm"), "2.4.0 12.1.1"),
            (format!("{PYTORCH}RUN pip install torchvision torchaudio"), "2.4.0 12.1.1"),
            (format!("{PYTORCH}RUN pip install -U timm ultralytics"), "2.4.0 12.1.1"),
            (format!("{PYTORCH}RUN pip install torch==2.5.1\nRUN pip install torchvision"), "2.5.1 12.4"),
            (format!("{PYTORCH}RUN pip install -U flask"), "2.4.0 12.1.1"),
            // The Python of the base decides which is the newest.
            (format!("{PYTORCH}RUN pip install -U torchvision"), "? ?"),
            (format!("{PYTORCH}RUN pip install -U transformers accelerate torchvision"), "? ?"),
            // It may be there or not.
            (format!("{unread}RUN pip install timm"), "? ?"),
            (format!("{unread}RUN pip install accelerate"), "2.3.1 12.1"),
            (format!("{unread}RUN pip install torchvision==0.18.1"), "2.3.1 12.1"),
        ],
        "linux/amd64",
    );
}

#[test]
fn what_came_along_before_is_there() {
    let first = format!("{PY311}RUN pip install torch==2.3.1 --index-url {WHL}/cu121\n");
    let timm = "RUN pip install timm";
    let image = "FROM vllm/vllm-openai";
    check(
        &[
            (format!("{PY311}RUN pip install vllm==0.6.3\n{timm}"), "2.4.0 12.1"),
            (format!("{PY311}RUN pip install vllm==0.6.3\nRUN pip install torchvision"), "2.4.0 12.1"),
            (format!("{PY311}RUN pip install vllm==0.6.3\nRUN pip install open_clip_torch"), "2.4.0 12.1"),
            (format!("{PY311}RUN pip install torch==2.3.1 fastai\n{timm}"), "2.3.1 12.1"),
            (format!("{PY311}RUN pip install torch==2.3.1 segmentation-models-pytorch\n{timm}"), "2.3.1 12.1"),
            (format!("{PY311}RUN pip install facenet-pytorch==2.6.0\n{timm}"), "2.2.2 12.1"),
            (format!("{image}:v0.5.4\n{timm}"), "2.4.0 12.1"),
            (format!("{image}:v0.6.3\n{timm}"), "2.4.0 12.1"),
            // It does not come along, or did not stay.
            (format!("{image}:v0.4.0\n{timm}"), "? ?"),
            (format!("{PY311}RUN pip install vllm==0.5.0\n{timm}"), "? ?"),
            (format!("{first}RUN pip install flask accelerate transformers\n{timm}"), "2.15.0 13.2"),
            (format!("{first}RUN pip install --no-deps fastai\n{timm}"), "2.15.0 13.2"),
            (format!("{first}RUN pip install fastai && pip uninstall -y torchvision\n{timm}"), "2.15.0 13.2"),
            (format!("{first}RUN apt-get update && apt-get install -y $MORE\n{timm}"), "2.15.0 13.2"),
            // Nobody knows what comes along, and what is asked for then goes with the torch that is there or not.
            (format!("{first}RUN pip install no-such-thing\n{timm}"), "? ?"),
            (format!("{first}RUN pip install no-such-thing\nRUN pip install 'torchvision==0.18.*'"), "2.3.1 12.1"),
            (format!("{first}{timm}\nRUN pip install no-such-thing"), "2.15.0 13.2"),
        ],
        "linux/amd64",
    );
}

#[test]
fn what_nobody_read_may_have_brought_a_companion() {
    let first = format!("{PY311}RUN pip install torch==2.3.1 --index-url {WHL}/cu121\n");
    let timm = "RUN pip install timm";
    let vision = "https://github.com/pytorch/vision";
    let packages = "/usr/local/lib/python3.11/site-packages";
    check(
        &[
            (format!("{first}RUN pip install --no-build-isolation git+{vision}@v0.18.1\n{timm}"), "2.3.1 12.1"),
            (format!("{first}RUN git clone {vision} && cd vision && python setup.py install\n{timm}"), "2.3.1 12.1"),
            (format!("{first}RUN pip install git+https://github.com/acme/vision\n{timm}"), "? ?"),
            (format!("{first}RUN pip install -r missing.txt\n{timm}"), "? ?"),
            (format!("{first}RUN pip install -r https://mirror.example/r.txt\n{timm}"), "? ?"),
            (format!("{first}COPY app /app\nRUN pip install -e /app\n{timm}"), "? ?"),
            (format!("{first}RUN curl https://mirror.example/x.sh | bash\n{timm}"), "? ?"),
            (format!("{first}COPY setup.sh /setup.sh\nRUN /setup.sh\n{timm}"), "? ?"),
            (format!("{first}COPY --from=mirror.example/x:1 {packages} {packages}\n{timm}"), "? ?"),
            // Those bring no package of Python, or come later.
            (format!("{first}RUN curl -LsSf https://astral.sh/uv/install.sh | sh\n{timm}"), "2.15.0 13.2"),
            (format!("{first}COPY --from=mirror.example/x:1 /tool /usr/bin/tool\n{timm}"), "2.15.0 13.2"),
            (format!("{first}{timm}\nRUN curl https://mirror.example/x.sh | bash"), "2.15.0 13.2"),
            (format!("{first}RUN curl -o x.json https://mirror.example/x.json\n{timm}"), "2.15.0 13.2"),
        ],
        "linux/amd64",
    );
}

#[test]
fn uv_keeps_the_torch_that_its_command_names() {
    let first = format!("{PY311}RUN pip install torch==2.3.1 --index-url {WHL}/cu121\n");
    check(
        &[
            (format!("{first}RUN uv pip install --system torch timm"), "2.3.1 12.1"),
            (format!("{first}RUN uv pip install --system torch timm ultralytics"), "2.3.1 12.1"),
            // Where it is told what goes with one torch alone, or that first, it may turn to a newer one.
            (format!("{first}RUN uv pip install --system 'torch>=2' torchvision"), "? ?"),
            (format!("{first}RUN uv pip install --system torch torchvision"), "? ?"),
            (format!("{first}RUN uv pip install --system torchvision torch"), "? ?"),
            (format!("{first}RUN uv pip install --system torch timm torchaudio torchvision"), "? ?"),
            (format!("{first}RUN uv pip install --system timm torch"), "? ?"),
            (
                format!("{PY311}RUN pip install torch==2.15.0\nRUN uv pip install --system torch torchvision"),
                "2.15.0 13.2",
            ),
            (format!("{first}RUN uv pip install --system timm"), "2.15.0 13.2"),
            (format!("{first}RUN uv pip install --system -U torch timm"), "2.15.0 13.2"),
            (format!("{first}RUN uv pip install --system 'torch>=2.4' timm"), "2.15.0 13.2"),
            (format!("{first}RUN pip install torch timm"), "2.15.0 13.2"),
        ],
        "linux/amd64",
    );
}

#[test]
fn a_page_of_another_project_leaves_torch_to_the_default_index() {
    let pages = [
        ("https://storage.googleapis.com/jax-releases/jax_cuda_releases.html", "2.15.0 13.2"),
        ("https://data.dgl.ai/wheels/repo.html", "2.15.0 13.2"),
        ("https://data.pyg.org/whl/torch-2.4.0.html", "2.15.0 13.2"),
        ("https://dl.fbaipublicfiles.com/detectron2/wheels/index.html", "2.15.0 13.2"),
        ("https://storage.googleapis.com/jax-releases-of-others/x.html", "? ?"),
        ("https://mirror.example/jax-releases/x.html", "? ?"),
        ("https://data.pyg.org/other.html", "? ?"),
        ("https://data.pyg.org/whl/torch-2.4.0+cu118.html", "? ?"),
    ];
    for (page, expected) in pages {
        let got = torch(&format!("{PY311}RUN pip install torch -f {page}"), "linux/amd64", None);
        assert_eq!(got, expected, "{page}");
    }
}

/// 2.11 of torchaudio asks for no torch, which the releases before it do.
#[test]
fn torchaudio_alone_brings_the_torch_that_its_release_asks_for() {
    check(
        &[
            (format!("{PY311}RUN pip install torchaudio"), "-"),
            (format!("{PY311}RUN pip install 'torchaudio>=2'"), "-"),
            (format!("{PY311}RUN pip install torchaudio --index-url {WHL}/cu128"), "-"),
            (format!("{PY311}RUN pip install 'torchaudio<2.11'"), "2.10.0 12.8"),
            (format!("{PY311}RUN pip install torchaudio --index-url {WHL}/cu121"), "2.5.1 12.1"),
            ("FROM python:3.9-slim\nRUN pip install torchaudio".to_owned(), "2.8.0 12.8"),
            (format!("{PY311}RUN pip install torch torchaudio"), "2.15.0 13.2"),
            (format!("{PY311}RUN pip install torchaudio torchvision"), "2.15.0 13.2"),
        ],
        "linux/amd64",
    );
}

#[test]
fn on_an_earlier_day_a_companion_is_that_of_the_day() {
    let first = format!("{PY311}RUN pip install torch==2.0.1\n");
    let on = |text: &str, day| torch(text, "linux/amd64", Some(day));
    assert_eq!(on(&format!("{first}RUN pip install torchvision"), date(2024, 5, 1)), "2.3.0 12.1");
    assert_eq!(on(&format!("{PY311}RUN pip install torch torchvision"), date(2024, 5, 1)), "2.3.0 12.1");
    assert_eq!(on(&format!("{PY311}RUN pip install torchaudio"), date(2024, 5, 1)), "2.3.0 12.1");
    assert_eq!(on(&format!("{first}RUN pip install peft"), date(2024, 5, 1)), "2.0.1 11.7");
}

#[test]
fn a_command_that_renews_all_it_brings_replaces_torch() {
    let first = format!("{PY311}RUN pip install torch==2.3.1 --index-url {WHL}/cu121\n");
    let both = format!("{PY311}RUN pip install torch==2.3.1 torchvision==0.18.1 --index-url {WHL}/cu121\n");
    check(
        &[
            (format!("{first}RUN pip install -U --upgrade-strategy eager accelerate"), "2.15.0 13.2"),
            (format!("{first}RUN pip install --upgrade --upgrade-strategy=eager accelerate"), "2.15.0 13.2"),
            (format!("{first}RUN pip install --force-reinstall accelerate"), "2.15.0 13.2"),
            (format!("{first}RUN pip install --ignore-installed accelerate"), "2.15.0 13.2"),
            (format!("{first}RUN uv pip install --system -U accelerate"), "2.15.0 13.2"),
            (format!("{both}RUN pip install --force-reinstall timm"), "2.15.0 13.2"),
            (format!("{first}RUN pip install --pre timm"), "? ?"),
            (format!("{both}RUN pip install -U --pre torchvision"), "? ?"),
            // It stays, or nothing asks for one.
            (format!("{first}RUN pip install -U accelerate"), "2.3.1 12.1"),
            (format!("{first}RUN pip install --upgrade-strategy eager accelerate"), "2.3.1 12.1"),
            (format!("{first}RUN pip install -U --upgrade-strategy only-if-needed accelerate"), "2.3.1 12.1"),
            (format!("{first}RUN pip install --force-reinstall --no-deps accelerate"), "2.3.1 12.1"),
            (format!("{first}RUN pip install --force-reinstall flask"), "2.3.1 12.1"),
            (format!("{first}RUN uv pip install --system accelerate"), "2.3.1 12.1"),
            (format!("{both}RUN pip install --pre timm"), "2.3.1 12.1"),
        ],
        "linux/amd64",
    );
}

#[test]
fn an_extra_or_a_condition_may_bring_a_companion() {
    let first = format!("{PY311}RUN pip install torch==2.3.1 --index-url {WHL}/cu121\n");
    let timm = "RUN pip install timm";
    check(
        &[
            (format!("{first}RUN pip install 'lancedb[embeddings]'\n{timm}"), "? ?"),
            (format!("{first}RUN pip install 'unstructured[all-docs]'\n{timm}"), "? ?"),
            (format!("{first}RUN if ls /x; then pip install torchvision==0.18.1; fi\n{timm}"), "? ?"),
            (format!("{first}RUN if ls /x; then pip install fastai; fi\n{timm}"), "? ?"),
            // Extras that bring none, and conditions that do not stand in the way.
            (format!("{first}RUN pip install 'uvicorn[standard]' 'fastapi[all]'\n{timm}"), "2.15.0 13.2"),
            (format!("{first}RUN pip install lancedb\n{timm}"), "2.15.0 13.2"),
            (format!("{first}RUN pip install --no-deps 'lancedb[embeddings]'\n{timm}"), "2.15.0 13.2"),
            (format!("{first}RUN if ls /x; then pip install flask; fi\n{timm}"), "2.15.0 13.2"),
            (format!("{first}RUN pip install torchvision==0.18.1\n{timm}"), "2.3.1 12.1"),
        ],
        "linux/amd64",
    );
}

#[test]
fn what_brings_torchvision_replaces_torch() {
    let first = format!("{PY311}RUN pip install torch==2.3.1 --index-url {WHL}/cu121\n");
    let both = format!("{PY311}RUN pip install torch==2.3.1 torchvision==0.18.1 --index-url {WHL}/cu121\n");
    for name in ["segmentation-models-pytorch", "lpips", "effdet"] {
        check(
            &[
                (format!("{first}RUN pip install {name}"), "2.15.0 13.2"),
                (format!("{both}RUN pip install {name}"), "2.3.1 12.1"),
                (format!("{first}RUN pip install --no-deps {name}"), "2.3.1 12.1"),
            ],
            "linux/amd64",
        );
    }
}

/// What the tables say that a package brings beside torch, it brings by its row in the other table as well.
#[test]
fn the_tables_agree_on_what_comes_along() {
    let knowledge = Knowledge::built_in();
    for row in knowledge.companion_packages() {
        for name in row.brings {
            let brought = knowledge.brought_packages().iter();
            let mut brought = brought.filter(|one| one.distribution == row.distribution && one.brings == *name);
            // What asks for one torch leaves no choice.
            let pinned = knowledge.torch_requirements_of(row.distribution).next().is_some();
            assert!(pinned || brought.next().is_some(), "{} {name}", row.distribution);
        }
    }
}
