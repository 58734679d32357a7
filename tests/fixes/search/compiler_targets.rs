//! Architecture lists with GPUs that the compiler does not support.

use std::fs;

use serde_json::Value;

use crate::search::test_repository::{TestRepository, out};
use crate::search::{fixes, list, words};

fn fleet(gpus: &[(&str, &str)]) -> String {
    let pool = |(name, gpu): &(&str, &str)| {
        format!(
            "[[pool]]\nname = \"{name}\"\ngpu = \"{gpu}\"\ndriver = \"580.95.05\"\nplatform = \"linux/amd64\"\n\
             launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n"
        )
    };
    gpus.iter().map(pool).collect()
}

fn repository(gpus: &[(&str, &str)], cuda: &str, lines: &str) -> TestRepository {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", &fleet(gpus));
    repository.file("Dockerfile", &format!("FROM nvidia/cuda:{cuda}-devel-ubuntu22.04\nCOPY a.cu .\n{lines}\n"));
    repository
}

fn found(repository: &TestRepository, pool: &str) -> Vec<Value> {
    fixes(&repository.json(&["check", "--show-fixes", "Dockerfile"]), pool)
}

fn named<'a>(found: &'a [Value], words: &str) -> Option<&'a Value> {
    found.iter().find(|fix| fix["title"].as_str().is_some_and(|title| title.contains(words)))
}

const B200: (&str, &str) = ("b", "B200");
const H100: (&str, &str) = ("h", "H100");

#[test]
fn supported_gpu_targets_are_added_and_ptx_covers_the_others() {
    let repository =
        repository(&[B200, H100], "12.4.1", "RUN nvcc -gencode arch=compute_80,code=sm_80 a.cu -o /a\nCMD /a");
    let found = found(&repository, "h");
    let own = named(&found, "add 9.0 to -gencode").expect("the one that it knows");
    assert_eq!((words(&own["cures"]), words(&own["breaks"])), (vec!["h".to_owned()], Vec::new()), "{own}");
    let ptx = named(&found, "add 9.0 with PTX to -gencode").expect("PTX");
    assert_eq!(words(&ptx["cures"]), ["b", "h"], "{ptx}");
    assert!(ptx["safety"] == "unsafe" && ptx["title"].to_string().contains("compiled at start-up"), "{ptx}");
    let more = " -gencode arch=compute_90,code=sm_90 -gencode arch=compute_90,code=compute_90";
    assert_eq!(list(&ptx["edits"])[0]["replacement"], more, "{ptx}");
    let base = named(&found, "and add 10.0 and 9.0 to -gencode").expect("a base that knows both");
    assert!(base["title"].to_string().contains("use the tag 12.8.") && words(&base["cures"]).len() == 2, "{base}");
    repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
    let told = out(&repository.run(&["check", "Dockerfile"]));
    assert!(!told.contains("fails"), "{told}");
}

#[test]
fn list_with_all_supported_targets_gets_ptx_of_the_newest() {
    for (line, written) in [
        (
            "RUN nvcc -gencode arch=compute_90,code=sm_90 a.cu -o /a\nCMD /a",
            " -gencode arch=compute_90,code=compute_90",
        ),
        ("RUN nvcc -arch=compute_90 -code=sm_90 a.cu -o /a\nCMD /a", ",compute_90"),
    ] {
        let repository = repository(&[B200], "12.4.1", line);
        let found = found(&repository, "b");
        let ptx = named(&found, "add PTX of the newest GPU to -").unwrap_or_else(|| panic!("{line}: {found:?}"));
        assert!(list(&ptx["edits"])[0]["replacement"].as_str().is_some_and(|more| more.contains(written)), "{ptx}");
        let other = named(&found, "and add 10.0 to -").expect("a base that knows it");
        assert!(other["title"].to_string().contains("12.8."), "{other}");
        repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
        let text = fs::read_to_string(repository.path("Dockerfile")).expect("a file");
        assert!(text.contains("compute_100") || text.contains("sm_100"), "{text}");
        assert!(!out(&repository.run(&["check", "Dockerfile"])).contains("fails"), "{text}");
    }
    // Code for one architecture alone is no beginning, and a compiler that knows the GPU needs no PTX.
    let repository = repository(&[B200], "12.4.1", "RUN nvcc -gencode arch=compute_90a,code=sm_90a a.cu -o /a\nCMD /a");
    assert!(named(&found(&repository, "b"), "PTX of").is_none());
}

#[test]
fn a_compiler_that_supports_every_gpu_gets_no_ptx_target() {
    let repository =
        repository(&[B200, H100], "12.8.1", "RUN nvcc -gencode arch=compute_80,code=sm_80 a.cu -o /a\nCMD /a");
    let found = found(&repository, "b");
    assert!(named(&found, "PTX").is_none() && named(&found, "use the tag").is_none(), "{found:?}");
    let own = named(&found, "to -gencode").expect("a list");
    assert_eq!((own["safety"].as_str(), words(&own["cures"]).len()), (Some("safe"), 2), "{own}");
}

#[test]
fn gpu_dropped_by_the_compiler_is_added_on_an_older_base() {
    let repository = repository(&[("v", "V100")], "13.0.1", "RUN nvcc -arch=sm_80 a.cu -o /a\nCMD /a");
    let found = found(&repository, "v");
    let base = named(&found, "and add 7.0 to -arch").expect("another base");
    assert!(base["title"].to_string().contains("use the tag 12."), "{base}");
    assert!(named(&found, "PTX").is_none() && list(&base["breaks"]).is_empty(), "{found:?}");
}

#[test]
fn nvcc_options_in_a_variable_are_edited_there() {
    for (lines, written) in [
        (
            "RUN FLAGS=\"-gencode arch=compute_80,code=sm_80\" && nvcc $FLAGS a.cu -o /a\nCMD /a",
            "FLAGS=\"-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90\" && nvcc $FLAGS",
        ),
        (
            "ENV FLAGS='-O3 -gencode arch=compute_80,code=sm_80'\nRUN nvcc $FLAGS a.cu -o /a\nCMD /a",
            "ENV FLAGS='-O3 -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90'",
        ),
        (
            "RUN bash -c \"nvcc -gencode arch=compute_80,code=sm_80 a.cu -o /a\"\nCMD /a",
            "\"nvcc -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 a.cu -o /a\"",
        ),
    ] {
        let repository = repository(&[H100], "12.4.1", lines);
        repository.run(&["check", "--fix", "Dockerfile"]);
        let text = fs::read_to_string(repository.path("Dockerfile")).expect("a file");
        assert!(text.contains(written), "{text}");
        assert!(!out(&repository.run(&["check", "Dockerfile"])).contains("fails"), "{text}");
    }
}

#[test]
fn options_are_added_wherever_nvcc_reads_them() {
    let more = "-gencode arch=compute_90,code=sm_90";
    let own = "-gencode arch=compute_80,code=sm_80";
    for (lines, written) in [
        (
            "RUN ARCH=80 && nvcc -gencode arch=compute_$ARCH,code=sm_$ARCH a.cu -o /a".to_owned(),
            format!("nvcc -gencode arch=compute_$ARCH,code=sm_$ARCH {more} a.cu"),
        ),
        (
            "ARG ARCH=80\nRUN nvcc -gencode arch=compute_${ARCH},code=sm_${ARCH} a.cu -o /a".to_owned(),
            format!("code=sm_${{ARCH}} {more} a.cu"),
        ),
        (
            "RUN [\"nvcc\", \"-gencode\", \"arch=compute_80,code=sm_80\", \"a.cu\", \"-o\", \"/a\"]".to_owned(),
            "\"arch=compute_80,code=sm_80\", \"-gencode\", \"arch=compute_90,code=sm_90\", \"a.cu\"".to_owned(),
        ),
        (
            format!("ENV NVCC_APPEND_FLAGS=\"{own}\"\nRUN nvcc a.cu -o /a"),
            format!("ENV NVCC_APPEND_FLAGS=\"{own} {more}\"\n"),
        ),
        (
            format!("ARG NVCC_PREPEND_FLAGS='{own}'\nRUN nvcc a.cu -o /a"),
            format!("ARG NVCC_PREPEND_FLAGS='{own} {more}'\n"),
        ),
        (
            "ENV NVCC_APPEND_FLAGS=-gencode=arch=compute_80,code=sm_80 X=1\nRUN nvcc a.cu -o /a".to_owned(),
            format!("ENV NVCC_APPEND_FLAGS=\"-gencode=arch=compute_80,code=sm_80 {more}\" X=1\n"),
        ),
        (
            format!("RUN export NVCC_APPEND_FLAGS=\"{own}\"; nvcc a.cu -o /a"),
            format!("NVCC_APPEND_FLAGS=\"{own} {more}\"; nvcc"),
        ),
        (format!("RUN make NVCC_GENCODE=\"{own}\""), format!("RUN make NVCC_GENCODE=\"{own} {more}\"\n")),
    ] {
        let repository = repository(&[H100], "12.4.1", &format!("{lines}\nCMD /a"));
        repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
        let text = fs::read_to_string(repository.path("Dockerfile")).expect("a file");
        assert!(text.contains(&written), "{text}");
        assert!(!out(&repository.run(&["check", "Dockerfile"])).contains("fails"), "{text}");
    }
    // The additional PTX runs on that GPU, and it is unknown which of the two runs: nothing fails for certain.
    let two = format!("RUN nvcc -ptx -arch=sm_80 k.cu -o k.ptx && nvcc {own} a.cu -o /a\nCMD /a");
    let partly = repository(&[H100], "12.4.1", &two);
    let report = partly.json(&["check", "Dockerfile"]);
    assert_eq!(report["subjects"][0]["verdicts"][0]["fate"], "undetermined", "{report}");
    partly.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
    assert!(fs::read_to_string(partly.path("Dockerfile")).expect("a file").contains(&two));
    // Machine code for one GPU alone, words that hold the whole option, and makefiles that may not read it.
    for lines in [
        "RUN nvcc -gencode arch=compute_80,code=sm_80 -cubin a.cu -o /a",
        "ENV NVCC_APPEND_FLAGS=\"-gencode arch=compute_80,code=sm_80\"\nRUN nvcc -cubin a.cu -o /a",
        "RUN [\"nvcc\", \"-cubin\", \"-arch=sm_80\", \"a.cu\", \"-o\", \"/a\"]",
        "RUN F=\"-gencode arch=compute_90,code=sm_90\" && nvcc -ptx $F a.cu -o /a",
        "RUN make FOO=\"-gencode arch=compute_80,code=sm_80\"",
        "ENV NVCC_APPEND_FLAGS=\"-gencode arch=compute_80,code=sm_80\"\nRUN nvcc --version",
    ] {
        let repository = repository(&[("a", "A100"), H100], "12.4.1", &format!("{lines}\nCMD /a"));
        let before = fs::read_to_string(repository.path("Dockerfile")).expect("a file");
        repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
        assert_eq!(fs::read_to_string(repository.path("Dockerfile")).expect("a file"), before);
    }
}

#[test]
fn ptx_of_one_gpu_is_made_of_an_older_one() {
    const A100: (&str, &str) = ("a", "A100");
    for (line, written) in [
        ("RUN nvcc -arch=compute_90 -ptx a.cu -o /a.ptx", "nvcc -arch=compute_80 -ptx a.cu"),
        ("RUN [\"nvcc\", \"-arch=sm_90\", \"-ptx\", \"a.cu\"]", "\"-arch=sm_80\", \"-ptx\""),
        ("RUN nvcc --ptx -gencode arch=compute_90,code=sm_90 a.cu", "-gencode arch=compute_80,code=sm_80 a.cu"),
    ] {
        let repository = repository(&[A100, H100], "12.4.1", line);
        let found = found(&repository, "a");
        let lower = named(&found, "add 8.0 to -").unwrap_or_else(|| panic!("{line}: {found:?}"));
        assert!(lower["safety"] == "unsafe" && list(&lower["breaks"]).is_empty(), "{lower}");
        repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
        let text = fs::read_to_string(repository.path("Dockerfile")).expect("a file");
        assert!(text.contains(written), "{text}");
        assert!(!out(&repository.run(&["check", "Dockerfile"])).contains("fails"), "{text}");
    }
    // PTX of an older GPU is compiled for newer ones.
    let repository = repository(&[A100, H100], "12.4.1", "RUN nvcc -arch=compute_70 -ptx a.cu -o /a.ptx");
    assert!(!out(&repository.run(&["check", "Dockerfile"])).contains("fails"));
}
