//! Variables that a stage does not see, and what a stage leaves to those that build on it.

use crate::torch::{PY311, WHL, check};

#[test]
fn an_argument_in_front_of_the_first_from_is_not_set_in_a_stage() {
    let cuda = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n";
    let install = |front: &str, base: &str, inside: &str, run: &str| format!("{front}\n{base}{inside}\nRUN {run}\n");
    let index = |value: &str| format!("pip install torch==2.4.1 --index-url {WHL}/{value}");
    check(
        &[
            (install("ARG CU=cu118", cuda, "", &index("${CU:-cu124}")), "2.4.1 12.4"),
            (install("ARG CU=cu118", PY311, "", &index("${CU:-cu124}")), "2.4.1 12.4"),
            (install("ARG CU=cu118", cuda, "", &index("cu12${CU:+9}4")), "2.4.1 12.4"),
            (install("", cuda, "", &index("${CU:-cu124}")), "2.4.1 12.4"),
            (install("ARG CU=cu118", cuda, "ENV D=${CU:-cu121}", &index("$D")), "2.4.1 12.1"),
            (install("ARG V=2.1.0", cuda, "", "pip install torch==${V:-2.4.1}"), "2.4.1 12.1"),
            (install("ARG CU=cu118", cuda, "", &format!(": ${{CU:=cu121}}; {}", index("$CU"))), "2.4.1 12.1"),
            // It is where the stage asks for it, and a base may set another.
            (install("ARG CU=cu118", cuda, "ARG CU", &index("${CU:-cu124}")), "2.4.1 11.8"),
            (install("ARG CU=cu118", cuda, "ARG CU=cu121", &index("${CU:-cu124}")), "2.4.1 12.1"),
            (install("ARG CU=cu118", "FROM registry.example/a:1\n", "", &index("${CU:-cu124}")), "2.4.1 ?"),
            (install("ARG PYTHON_V=cu118", PY311, "", &index("${PYTHON_V:-cu124}")), "2.4.1 ?"),
            (install("ARG CU=cu118", cuda, "", &format!(". /nobody.sh; {}", index("${CU:-cu124}"))), "2.4.1 ?"),
            (install("", cuda, "", &format!("export $(cat .env | xargs); {}", index("${CU:-cu124}"))), "2.4.1 ?"),
            (install("", cuda, "", &format!("declare $(cat .env); {}", index("${CU:-cu124}"))), "2.4.1 ?"),
            (install("", cuda, "", &format!("printf -v CU cu118; {}", index("${CU:-cu124}"))), "2.4.1 ?"),
            (install("", cuda, "", &format!("readarray -t CU < f; {}", index("${CU:-cu124}"))), "2.4.1 ?"),
            (install("", cuda, "", &format!("CU+=cu118; {}", index("${CU:-cu124}"))), "2.4.1 ?"),
            (install("", cuda, "", &format!("export A=$(cat .env) B; {}", index("${CU:-cu124}"))), "2.4.1 12.4"),
            (install("", cuda, "", &format!("printf x; {}", index("${CU:-cu124}"))), "2.4.1 12.4"),
            (install("ARG V=2.1.0", cuda, "", "pip install torch==$V"), "? ?"),
        ],
        "linux/amd64",
    );
}

#[test]
fn what_a_stage_leaves_behind_onbuild_runs_where_another_builds_on_it() {
    let trigger = "ONBUILD RUN pip install torch==2.4.1\n";
    check(
        &[
            (format!("{} AS a\n{trigger}FROM a\n", PY311.trim()), "2.4.1 12.1"),
            (format!("{} AS a\n{trigger}FROM a AS b\nFROM b\n", PY311.trim()), "2.4.1 12.1"),
            (format!("{} AS a\n{trigger}FROM a\nRUN pip install torch==2.5.1\n", PY311.trim()), "2.5.1 12.4"),
            (
                format!("{} AS a\nONBUILD ARG V=2.5.1\nONBUILD RUN pip install torch==$V\nFROM a\n", PY311.trim()),
                "2.5.1 12.4",
            ),
            // Nothing builds on it, or its files alone travel.
            (format!("{PY311}{trigger}"), "-"),
            (format!("{} AS a\n{trigger}{PY311}COPY --from=a /usr/local /usr/local\n", PY311.trim()), "-"),
            (format!("{} AS a\n{trigger}{PY311}", PY311.trim()), "-"),
        ],
        "linux/amd64",
    );
}

#[test]
fn what_stands_behind_a_possible_end_of_a_script_is_not_certain() {
    let run = |script: &str| format!("{PY311}RUN pip install torch==2.4.1\nRUN {script}\n");
    let several = |script: &str| (run(script), "? ?");
    check(
        &[
            several("if ! which nvcc; then exit 0; fi; pip install torch==1.13.1"),
            several("if ! nvidia-smi; then exit; fi; pip install torch==1.13.1"),
            several("which nvcc || exit 0; pip install torch==1.13.1"),
            several("command -v conda && exit 0; pip install torch==1.13.1"),
            several("if ! which nvcc; then pip install torch==2.5.1; exit 0; fi; pip install torch==1.13.1"),
            // It fails, ends a shell of its own, stands behind everything, or does not run.
            (run("if ! which nvcc; then exit 1; fi; pip install torch==1.13.1"), "1.13.1 11.7"),
            (run("which nvcc || exit; pip install torch==1.13.1"), "1.13.1 11.7"),
            (run("(which nvcc || exit 0); pip install torch==1.13.1"), "1.13.1 11.7"),
            (run("sh -c 'which nvcc || exit 0'; pip install torch==1.13.1"), "1.13.1 11.7"),
            (run("pip install torch==1.13.1; exit 0"), "1.13.1 11.7"),
            (run("if [ 1 = 2 ]; then exit 0; fi; pip install torch==1.13.1"), "1.13.1 11.7"),
            (run("for i in 1 2 3; do pip install torch==1.13.1 && exit 0 || sleep 5; done; exit 1"), "1.13.1 11.7"),
            (run("exit 0; pip install torch==1.13.1"), "2.4.1 12.1"),
        ],
        "linux/amd64",
    );
}
