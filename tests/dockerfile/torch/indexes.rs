//! Indexes of builds, and markers: which torch a command finds, and which it asks for at all.

use crate::torch::{PY311, PYTORCH, WHL, check};

#[test]
fn of_an_index_without_releases_the_cuda_is_known_and_the_version_is_not() {
    let nightly = format!("{WHL}/nightly/cu128");
    check(
        &[
            (format!("{PY311}RUN pip install --pre torch --index-url {nightly}"), "? 12.8"),
            (format!("{PY311}RUN pip install torch -i {nightly}"), "? 12.8"),
            (format!("{PY311}RUN pip install --pre torchvision --index-url {nightly}"), "? 12.8"),
            (format!("{PY311}RUN pip install torch --index-url {WHL}/test/cu126"), "? 12.6"),
            (format!("{PY311}RUN pip install --pre torch --index-url {WHL}/nightly/cpu"), "? none"),
            (format!("{PY311}ENV PIP_PRE=1 PIP_INDEX_URL={nightly}\nRUN pip install torch"), "? 12.8"),
            (format!("{PY311}RUN uv pip install --prerelease=allow torch --extra-index-url {nightly}"), "? 12.8"),
            // A day is a version like another.
            (
                format!("{PY311}RUN pip install torch==2.7.0.dev20250130+cu126 --index-url {WHL}/nightly/cu126"),
                "2.7.0.dev20250130 12.6",
            ),
            (
                format!("{PY311}RUN pip install torch==2.7.0.dev20250130 --extra-index-url {WHL}/nightly/cu126"),
                "2.7.0.dev20250130 12.6",
            ),
            // Beside the default index either may be the newer one, where early versions are allowed.
            (format!("{PY311}RUN pip install --pre torch --extra-index-url {nightly}"), "? ?"),
            (format!("{PY311}RUN pip install 'torch>=2.7.0.dev0' --extra-index-url {nightly}"), "? ?"),
            (format!("{PY311}RUN pip install torch --extra-index-url {WHL}/test/cu126"), "? ?"),
            // Else it counts for nothing.
            (format!("{PY311}RUN pip install torch --extra-index-url {nightly}"), "2.15.0 13.2"),
            (format!("{PY311}RUN pip install torch==2.7.0 --extra-index-url {nightly}"), "2.7.0 12.6"),
            // It has no releases, the one of candidates has all of them.
            (format!("{PY311}RUN pip install torch==2.7.0 --index-url {nightly}"), "2.7.0 ?"),
            (format!("{PY311}RUN pip install torch==2.7.0 --index-url {WHL}/test/cu128"), "2.7.0 12.8"),
            // The default index, and the index behind uv's backends, have releases alone.
            (format!("{PY311}RUN pip install --pre torch"), "2.15.0 13.2"),
            (format!("{PY311}RUN uv pip install --pre torch --torch-backend=cu118"), "2.7.1 11.8"),
            (format!("{PY311}RUN pip install --pre torch --index-url {WHL}/cu118"), "2.7.1 11.8"),
            // What is there already will do, unless something asks for an early version of its own.
            (format!("{PYTORCH}RUN pip install --pre torch --index-url {nightly}"), "2.4.0 12.1.1"),
            (format!("{PYTORCH}RUN pip install --pre -U torch --index-url {nightly}"), "? 12.8"),
            (format!("{PYTORCH}RUN pip install --pre torchvision --index-url {nightly}"), "? 12.8"),
        ],
        "linux/amd64",
    );
}

#[test]
fn a_build_that_no_release_has_tells_nothing() {
    check(
        &[
            (format!("{PY311}RUN pip install torch==2.6.0+cu999"), "2.6.0 ?"),
            (format!("{PY311}RUN pip install torch==2.6.0+cu12"), "2.6.0 ?"),
            (format!("{PY311}RUN pip install torch==2.6.0+cu121"), "2.6.0 ?"),
            (format!("{PY311}RUN pip install torch==2.4.0 --index-url {WHL}/cu126"), "2.4.0 ?"),
            (format!("{PY311}RUN pip install torch --index-url {WHL}/cu999"), "? ?"),
            (format!("{PY311}RUN pip install torch==9.9.0+cu999"), "9.9.0 ?"),
            (format!("{PY311}RUN uv pip install torch==2.6.0 --torch-backend=cu121"), "2.6.0 ?"),
            // Near misses: builds that there are, and those that may have come after the tables.
            (format!("{PY311}RUN pip install torch==2.6.0+cu124"), "2.6.0 12.4"),
            (format!("{PY311}RUN pip install torch==2.6.0+cpu"), "2.6.0 none"),
            (format!("{PY311}RUN pip install torch==1.13.1+cu117.with.pypi.cudnn"), "1.13.1 11.7"),
            (format!("{PY311}RUN pip install torch==1.4.0+cu92"), "1.4.0 9.2"),
            (format!("{PY311}RUN pip install torch==1.4.0+cu100 -f {WHL}/torch_stable.html"), "1.4.0 10.0"),
            (format!("{PY311}RUN pip install torch==1.8.2+cu111 -f {WHL}/lts/1.8/torch_lts.html"), "1.8.2 11.1"),
            (format!("{PY311}RUN pip install torch==1.8.2+cu101 -f {WHL}/lts/1.8/torch_lts.html"), "1.8.2 ?"),
            ("FROM python:3.8\nRUN pip install 'torch~=1.8.0'".to_owned(), "1.8.1 10.2"),
            (format!("{PY311}RUN pip install torch==9.9.0+cu141"), "9.9.0 14.1"),
        ],
        "linux/amd64",
    );
}

#[test]
fn the_default_index_named_beside_that_of_a_build_has_its_say() {
    let usual = "https://pypi.example/simple";
    check(
        &[
            (format!("{PY311}RUN pip install torch --index-url {WHL}/cu118 --extra-index-url {usual}"), "2.15.0 13.2"),
            (
                format!("{PY311}RUN pip install 'torch<2.5' --index-url {WHL}/cu118 --extra-index-url {usual}/"),
                "2.4.1 11.8",
            ),
            (
                format!("{PY311}RUN pip install torch==2.4.0 --index-url {WHL}/cu118 --extra-index-url {usual}"),
                "2.4.0 11.8",
            ),
            // uv takes an extra index first.
            (
                format!("{PY311}RUN uv pip install torch --index-url {WHL}/cu118 --extra-index-url {usual}"),
                "2.15.0 13.2",
            ),
            // An index of somebody's own packages is none of it.
            (
                format!(
                    "{PY311}RUN pip install torch --index-url {WHL}/cu118 --extra-index-url https://pypi.nvidia.com"
                ),
                "2.7.1 11.8",
            ),
            (
                format!("{PY311}RUN pip install torch -i {WHL}/cu118 --extra-index-url https://a.example/b/c/d/simple"),
                "2.7.1 11.8",
            ),
        ],
        "linux/amd64",
    );
}

#[test]
fn a_marker_is_weighed_with_the_python_of_the_base() {
    let two = "\"torch==2.2.0; python_version < '3.9'\" \"torch==2.6.0; python_version >= '3.9'\"";
    let full = "\"torch==2.2.0; python_full_version < '3.9'\" \"torch==2.6.0; python_full_version >= '3.9.0'\"";
    let jammy = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n";
    check(
        &[
            (format!("FROM python:3.8-slim\nRUN pip install {two}"), "2.2.0 12.1"),
            (format!("{PY311}RUN pip install {two}"), "2.6.0 12.4"),
            (format!("{PY311}RUN pip install {full}"), "2.6.0 12.4"),
            (format!("FROM python:3.8.20\nRUN uv pip install --system {full}"), "2.2.0 12.1"),
            (format!("{jammy}RUN apt-get install -y python3-pip && pip install {two}"), "2.6.0 12.4"),
            // The command names it.
            (format!("{jammy}RUN apt-get install -y python3.8 && python3.8 -m pip install {two}"), "2.2.0 12.1"),
            // Which one it is cannot be told.
            (format!("{jammy}RUN apt-get install -y python3.8 && pip install {two}"), "? ?"),
            (format!("FROM continuumio/miniconda3\nRUN pip install {two}"), "? ?"),
            (format!("FROM registry.example.com/base:1\nRUN pip install {two}"), "? ?"),
            (format!("{PY311}RUN pip install \"torch==2.6.0; python_full_version < '3.11.4'\""), "? ?"),
            // Markers that ask for something else.
            (format!("{PY311}RUN pip install \"torch==2.6.0; sys_platform == 'darwin'\""), "-"),
            (format!("{PY311}RUN pip install \"torch==2.6.0 ; sys_platform == 'linux'\""), "2.6.0 12.4"),
        ],
        "linux/amd64",
    );
}

#[test]
fn of_builds_on_several_ways_none_is_told_in_whatever_order() {
    let cpu = format!("pip install torch==2.3.1 --index-url {WHL}/cpu");
    let links = "pip install torch==2.3.1+cpu -f https://download.pytorch.org/whl/torch_stable.html";
    let cuda = "pip install torch==2.3.1";
    check(
        &[
            (format!("{PY311}RUN if lspci | grep -qi nvidia; then {cuda}; else {cpu}; fi"), "? ?"),
            (format!("{PY311}RUN if lspci | grep -qi nvidia; then {cpu}; else {cuda}; fi"), "? ?"),
            (format!("{PY311}RUN if [ -f /x ]; then {cuda}; else {links}; fi"), "? ?"),
            (format!("{PY311}ARG DEVICE\nRUN if [ \"$DEVICE\" = gpu ]; then {cuda}; else {cpu}; fi"), "? ?"),
            (format!("{PY311}ARG DEVICE\nRUN case $DEVICE in gpu) {cuda};; *) {cpu};; esac"), "? ?"),
            (format!("{PY311}RUN test -e /dev/nvidia0 && {cuda} || {cpu}"), "? ?"),
            (format!("{PY311}RUN if [ -f /x ]; then {cpu}; elif [ -f /y ]; then {cuda}; else {cpu}; fi"), "? ?"),
            // What is there on one way stays where the next asks for no more.
            (format!("{PY311}RUN if [ -f /x ]; then {cuda}; fi\nRUN {cpu}"), "2.3.1 ?"),
            (format!("{PYTORCH}RUN if [ -f /x ]; then {cpu} --force-reinstall; fi"), "? ?"),
            // Either way, or at the end, it is the same build.
            (format!("{PY311}RUN if [ -f /x ]; then {cpu}; fi"), "? none"),
            (format!("{PY311}RUN if [ -f /x ]; then {cpu}; else {cpu}; fi"), "? none"),
            (format!("{PY311}RUN if [ -f /x ]; then {cuda}; fi\nRUN {cpu} --force-reinstall"), "2.3.1 none"),
            (format!("{PY311}RUN if [ -f /x ]; then {cuda}; fi\nRUN {links}"), "2.3.1 none"),
            (format!("{PY311}RUN if [ -f /x ]; then pip install torch==2.1.0; fi\nRUN {cpu}"), "2.3.1 none"),
            (format!("{PY311}RUN if [ -f /x ]; then {cuda}; fi\nRUN {cuda}"), "2.3.1 12.1"),
            (format!("{PY311}ARG DEVICE=cpu\nRUN if [ \"$DEVICE\" = gpu ]; then {cuda}; else {cpu}; fi"), "2.3.1 none"),
            (format!("{PY311}RUN {cuda} || {cpu}"), "2.3.1 12.1"),
        ],
        "linux/amd64",
    );
}

/// A page of links that nobody read may list any build of torch.
#[test]
fn a_page_of_links_that_nobody_saw_leaves_the_build_open() {
    let page = "https://mirror.example/wheels.html";
    let torch = |more: &str| format!("{PY311}RUN pip install torch==2.4.0 {more}");
    check(
        &[
            (torch(&format!("-f {page}")), "2.4.0 ?"),
            (torch(&format!("--find-links={page} --extra-index-url {WHL}/cu118")), "2.4.0 ?"),
            (format!("{PY311}ENV PIP_FIND_LINKS={page}\nRUN pip install torch==2.4.0"), "2.4.0 ?"),
            (format!("{PY311}RUN uv pip install --system torch==2.4.0 -f {page}"), "2.4.0 ?"),
            // Pages of extensions name the torch that these are built against.
            (torch("-f https://data.pyg.org/whl/torch-2.4.0+cu118.html"), "2.4.0 ?"),
            (torch("-f https://mirror.example/wheels/torch-2.4/cu118/repo.html"), "2.4.0 ?"),
            // One that is known to list no torch leaves it to the default index.
            (torch("-f https://data.dgl.ai/wheels/torch-2.4/cu118/repo.html"), "2.4.0 12.1"),
            // The build is told by the version, the address, or the index alone; the page is of no concern to others.
            (format!("{PY311}RUN pip install torch==2.4.0+cu118 -f {page}"), "2.4.0 11.8"),
            (torch(&format!("-f {WHL}/cu118/torch_stable.html")), "2.4.0 11.8"),
            (torch("-f https://mirror.example/whl/cu118/torch_stable.html"), "2.4.0 11.8"),
            (torch(&format!("--index-url {WHL}/cu118")), "2.4.0 11.8"),
            (torch(&format!("\nRUN pip install flask -f {page}")), "2.4.0 12.1"),
            (torch(&format!("\nRUN pip install pyg-lib -f {page}")), "2.4.0 12.1"),
            (torch(&format!("\nRUN pip install torch -f {page}")), "2.4.0 12.1"),
        ],
        "linux/amd64",
    );
}

/// An index with the wheels of one project alone has no torch.
#[test]
fn an_index_of_another_project_tells_no_build_of_torch() {
    let own = "https://flashinfer.ai/whl/cu118/torch2.4";
    let usual = "https://mirror.example/simple";
    let of = |more: &str| format!("{PY311}RUN pip install torch==2.4.0 {more}");
    check(
        &[
            (of(&format!("flashinfer==0.1.6 -i {own}/ --extra-index-url {usual}")), "2.4.0 12.1"),
            (of(&format!("flashinfer==0.1.6 --extra-index-url {own}/")), "2.4.0 12.1"),
            (of("--extra-index-url https://huggingface.github.io/autogptq-index/whl/cu118/"), "2.4.0 12.1"),
            (format!("{PY311}ENV PIP_EXTRA_INDEX_URL={own}\nRUN pip install torch==2.4.0"), "2.4.0 12.1"),
            (of(&format!("--extra-index-url {own} --extra-index-url {WHL}/cu124")), "2.4.0 12.4"),
            (of(&format!("-i {own} --extra-index-url {WHL}/cu124")), "2.4.0 12.4"),
            // No other index is asked.
            (of(&format!("-i {own}")), "2.4.0 ?"),
            // Others may have it.
            (of("-i https://mirror.example/flashinfer.ai/whl/cu118"), "2.4.0 11.8"),
            (of("-i https://flashinfer.ai.mirror.example/whl/cu118"), "2.4.0 11.8"),
            (of(&format!("\nRUN pip install flashinfer -i {own}")), "2.4.0 12.1"),
        ],
        "linux/amd64",
    );
}
