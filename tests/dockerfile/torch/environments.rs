//! Several environments of Python in one image: the one that the program uses decides.

use crate::torch::{PY311, PYTORCH, check};

const NEW: &str = "/opt/v/bin/pip install torch==2.15.0";
const VENV: &str = "RUN python -m venv /opt/v";

#[test]
fn the_environment_of_the_program_decides() {
    let old = format!("{PY311}RUN pip install torch==2.4.0\n");
    let both = format!("{old}{VENV} && {NEW}\n");
    let turned = format!("{PY311}{VENV} && /opt/v/bin/pip install torch==2.4.0 && pip install torch==2.15.0\n");
    let path = "ENV PATH=/opt/v/bin:$PATH\n";
    let python = "CMD [\"python\", \"a.py\"]";
    let uv = "uv pip install";
    check(
        &[
            (format!("{both}{python}"), "2.4.0 12.1"),
            (format!("{both}CMD python3 a.py"), "2.4.0 12.1"),
            (format!("{both}ENTRYPOINT [\"/usr/local/bin/python3.11\", \"a.py\"]"), "2.4.0 12.1"),
            (format!("{both}CMD [\"tini\", \"--\", \"python\", \"a.py\"]"), "2.4.0 12.1"),
            (format!("{old}RUN uv venv /opt/v && {uv} --python /opt/v torch==2.15.0\n{python}"), "2.4.0 12.1"),
            (format!("{both}CMD [\"/opt/v/bin/python\", \"a.py\"]"), "2.15.0 13.2"),
            (format!("{both}CMD . /opt/v/bin/activate && python a.py"), "2.15.0 13.2"),
            (format!("{both}{path}{python}"), "2.15.0 13.2"),
            // Behind the folders of the base, or beside a Python that is named in full.
            (format!("{both}ENV PATH=$PATH:/opt/v/bin\n{python}"), "2.4.0 12.1"),
            (format!("{both}ENV PATH=/usr/local/bin:/opt/v/bin\n{python}"), "2.4.0 12.1"),
            (format!("{both}{path}CMD cd /srv && /usr/local/bin/python3 a.py"), "2.4.0 12.1"),
            (format!("{both}CMD cd /srv && python3 a.py"), "2.4.0 12.1"),
            (format!("{both}CMD sleep 5; python3 -m a"), "2.4.0 12.1"),
            (format!("{both}CMD [\"timeout\", \"10\", \"python3\", \"a.py\"]"), "2.4.0 12.1"),
            (format!("{both}CMD [\"gosu\", \"app\", \"python3\", \"a.py\"]"), "2.4.0 12.1"),
            (format!("{both}{path}CMD [\"bash\", \"run.sh\"]"), "2.15.0 13.2"),
            (format!("{both}{path}"), "2.15.0 13.2"),
            (format!("{turned}CMD [\"/opt/v/bin/python\", \"a.py\"]"), "2.4.0 12.1"),
            (format!("{turned}{path}{python}"), "2.4.0 12.1"),
            (format!("{turned}{python}"), "2.15.0 13.2"),
            (
                format!(
                    "{PY311}WORKDIR /app\nRUN uv venv && {uv} torch==2.4.0 && pip install torch==2.15.0\n\
                     CMD [\".venv/bin/python\", \"a.py\"]"
                ),
                "2.4.0 12.1",
            ),
            // What an environment brings along stays in it.
            (
                format!("{PY311}{VENV} && /opt/v/bin/pip install timm\nRUN pip install torch==2.4.0\n{path}{python}"),
                "2.15.0 13.2",
            ),
            (
                format!("{PY311}{VENV} && /opt/v/bin/pip install timm\nRUN pip install torch==2.4.0\n{python}"),
                "2.4.0 12.1",
            ),
            // Beside the torch of a base image.
            (format!("{PYTORCH}{VENV} && {NEW}\n{python}"), "2.4.0 12.1.1"),
            (format!("{PYTORCH}{VENV} && {NEW}\n{path}{python}"), "2.15.0 13.2"),
            (format!("{PYTORCH}{VENV} && {NEW}\n"), "2.15.0 13.2"),
            // Copied out of another stage.
            (
                format!(
                    "FROM python:3.11-slim AS b\n{VENV} && {NEW}\n{old}COPY --from=b /opt/v /opt/v\nCMD [\"python\", \"a.py\"]"
                ),
                "2.4.0 12.1",
            ),
            (
                format!(
                    "FROM python:3.11-slim AS b\n{VENV} && {NEW}\n{old}COPY --from=b /opt/v /opt/v\n{path}{python}"
                ),
                "2.15.0 13.2",
            ),
        ],
        "linux/amd64",
    );
}

#[test]
fn where_the_program_is_not_told_neither_is_the_environment() {
    let both = format!("{PY311}RUN pip install torch==2.4.0\n{VENV} && {NEW}\n");
    check(
        &[
            (format!("{both}CMD [\"bash\", \"run.sh\"]"), "? ?"),
            (format!("{both}CMD [\"/app/run\"]"), "? ?"),
            (format!("{both}CMD [\"supervisord\"]"), "? ?"),
            (format!("{both}RUN ln -sf /opt/v/bin/python /usr/local/bin/python\nCMD [\"python\", \"a.py\"]"), "? ?"),
            (both.clone(), "? ?"),
            (format!("{both}RUN python -m venv /opt/w\nCMD /opt/v/bin/python a.py & python b.py"), "2.15.0 13.2"),
            // Each has the same, or one alone has any.
            (
                format!("{PY311}RUN pip install torch==2.4.0\n{VENV} && /opt/v/bin/pip install torch==2.4.0"),
                "2.4.0 12.1",
            ),
            (format!("{PY311}{VENV} && {NEW}\nRUN pip install flask\nCMD [\"bash\", \"run.sh\"]"), "2.15.0 13.2"),
            (format!("{PY311}{VENV} && {NEW}\nCMD [\"python\", \"a.py\"]"), "2.15.0 13.2"),
            (
                format!("{PY311}RUN pip install torch==2.4.0\n{VENV} && /opt/v/bin/pip install flask\nCMD [\"x\"]"),
                "2.4.0 12.1",
            ),
        ],
        "linux/amd64",
    );
}

#[test]
fn what_lies_in_a_folder_beside_counts_where_the_program_looks_there() {
    let old = format!("{PY311}RUN pip install torch==2.4.0\n");
    let python = "CMD [\"python\", \"a.py\"]";
    check(
        &[
            (format!("{old}RUN pip install --target /opt/x timm\n{python}"), "2.4.0 12.1"),
            (format!("{old}RUN pip install --target /opt/x torch==2.15.0"), "2.4.0 12.1"),
            (format!("{old}RUN pip install -t /opt/x torch==2.15.0\nENV PYTHONPATH=/opt/x\n{python}"), "2.15.0 13.2"),
            (format!("{old}WORKDIR /opt/x\nRUN pip install --target . torch==2.15.0\n{python}"), "? ?"),
            (format!("{old}RUN pip install --target /opt/x torch==2.15.0\nCMD PYTHONPATH=/opt/x python a.py"), "? ?"),
            (format!("{PY311}RUN pip install --target /opt/x torch==2.15.0\n{python}"), "? ?"),
            // Where the Python looks by itself.
            (
                format!(
                    "{old}RUN pip install --target /usr/local/lib/python3.11/site-packages torch==2.15.0\n{python}"
                ),
                "2.15.0 13.2",
            ),
        ],
        "linux/amd64",
    );
}
