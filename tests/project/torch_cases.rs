//! A case about a version or build of torch is in `tests/cases/torch`. A case in another file of `tests/cases` expects no
//! fact or package of torch. A test of `tests/dockerfile` pins torch only if the case format cannot express what it asserts.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::architecture::scan::{Kind, only, pattern};
use crate::support::case::{Case, Cases, files_below};

/// The folder in `tests/cases` of the cases about torch.
const FOLDER: &str = "torch/";

/// A requirement of torch with a version, an install of torch without one, or a version of torch in a description.
const PIN: &str = r#"(?:\\n|\b)torch(?:==|@|~=|[<>]=?| = \\?")|\binstall\b[^\n"\\]*[ '"]torch(?:[ '"\\]|$)"#;

/// The tests that pin torch: the file in `tests/dockerfile`, the function, and what no case can express.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("bake_and_compose.rs", "two_targets_of_one_dockerfile_are_distinct_in_every_report", "several report formats"),
    ("bake_and_compose.rs", "build_uses_the_targets_in_its_contexts_as_bases", "the input is a Bake file"),
    ("bake_and_compose.rs", "under_a_default_runtime_the_image_requests_the_gpu", "the input is a Compose file"),
    ("base_images.rs", "a_description_keeps_unknown_values", "the output of `describe` is compared"),
    (
        "base_images.rs",
        "wrong_platform_is_reported_for_architectures_without_a_base_image",
        "any outcome other than `wrong-platform` is right",
    ),
    ("components.rs", "the_reason_for_an_unknown_release_names_the_compatibility_database", "the reason of a fact"),
    (
        "copied_packages/dependencies.rs",
        "version_range_fails_later_if_all_releases_open_a_missing_library",
        "a sentence of the report and its exit code",
    ),
    (
        "copied_packages/mod.rs",
        "a_library_is_missing_if_all_its_possible_sources_are_known",
        "torch is only a source of libraries; any outcome without the missing library is right",
    ),
    (
        "copied_packages/removed_libraries.rs",
        "libraries_opened_through_the_loader_are_not_found_in_wheels",
        "torch is only a source of libraries; one finding of several is absent",
    ),
    ("directives.rs", "syntax_error_without_gpu_content_is_a_warning", "the place of a syntax error"),
    ("directives.rs", "ignore_above_an_install_applies_to_its_requirements_files", "suppressions and their messages"),
    ("directives.rs", "ignore_in_a_requirements_file_applies_only_to_its_line", "suppressions and their messages"),
    (
        "directives.rs",
        "ignore_in_a_requirements_file_keeps_findings_of_the_dockerfile",
        "suppressions and their messages",
    ),
    ("directives.rs", "ignore_in_a_here_document_applies_only_to_its_line", "suppressions and their messages"),
    ("discovery.rs", "report_is_independent_of_the_number_of_workers", "several runs are compared"),
    ("discovery.rs", "endless_or_outside_context_files_are_not_read", "a link out of the build context"),
    ("discovery.rs", "nothing_in_a_repository_reaches_the_terminal_as_a_command", "the bytes that are printed"),
    ("discovery.rs", "nothing_in_a_repository_names_a_program_or_opens_the_network", "connections are counted"),
    ("discovery.rs", "lists", "several Dockerfiles share files"),
    (
        "discovery.rs",
        "build_context_is_the_parent_directory_with_the_copied_files",
        "the program chooses the build context",
    ),
    ("limits.rs", "endless_makefile_references_are_not_followed", "a time limit"),
    ("stages.rs", "many_stages_that_copy_each_other_are_read", "forty generated stages"),
    ("stages.rs", "copying_root_into_scratch_copies_packages_but_not_environment", "a saved report is judged again"),
    (
        "stages.rs",
        "compiled_gpu_code_is_copied_with_its_build_or_install_directory",
        "the GPU code of the described image is compared",
    ),
    (
        "stages.rs",
        "an_unread_script_is_reported_next_to_a_verdict_on_a_cuda_base_image",
        "one of several uninspected items is absent",
    ),
    ("version_ranges.rs", "scenarios_name_the_deciding_releases_of_a_range", "the releases of scenarios"),
    (
        "version_ranges.rs",
        "runtime_selected_library_without_gpu_code_is_listed_as_not_seen",
        "one of several uninspected items",
    ),
];

/// The functions of a text of Rust source that pin torch in a literal.
fn functions_with_a_pin(text: &str) -> BTreeSet<String> {
    let (code, literals) = (only(text, &[Kind::Code]), only(text, &[Kind::Literal]));
    let functions = pattern(r"\bfn (\w+)");
    let functions: Vec<(usize, &str)> = functions
        .captures_iter(&code)
        .filter_map(|found| Some((found.get(0)?.start(), found.get(1)?.as_str())))
        .collect();
    let pin = pattern(PIN);
    let owner = |at: usize| functions.iter().rev().find(|(start, _)| *start < at).map_or("", |(_, name)| name);
    pin.find_iter(&literals).map(|hit| owner(hit.start()).to_owned()).collect()
}

#[test]
fn a_pin_of_torch_is_found_in_a_dockerfile_and_not_elsewhere() {
    for (line, found) in [
        (r#""FROM a\nRUN pip install torch==2.4.0\n""#, true),
        (r#""RUN poetry add torch@2.4.0""#, true),
        (r#""RUN pip install 'torch>=2,<3'""#, true),
        (r#""RUN pip install torch numpy""#, true),
        (r#""[packages.pip]\ntorch = \"2.4.0\"\n""#, true),
        (r#""RUN pip install torchvision==0.19.0""#, false),
        (r#""RUN pip install onnxruntime-gpu==1.20.1""#, false),
        (r#""ENV TORCH_CUDA_ARCH_LIST=8.0""#, false),
        ("x(); // pip install torch==2.4.0", false),
    ] {
        let text = format!("fn first() {{}}\n\n#[test]\nfn second() {{\n    let _ = {line};\n}}\n");
        let expected: &[&str] = if found { &["second"] } else { &[] };
        assert_eq!(functions_with_a_pin(&text), expected.iter().map(|name| (*name).to_owned()).collect(), "{line}");
    }
}

#[test]
fn cases_of_torch_are_in_the_folder_of_cases() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dockerfile");
    let mut found = BTreeSet::new();
    for path in files_below(&root) {
        let name = path.strip_prefix(&root).expect("inside").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("a source");
        found.extend(functions_with_a_pin(&text).into_iter().map(|function| (name.clone(), function)));
    }
    let allowed: BTreeSet<(String, String)> =
        EXCEPTIONS.iter().map(|(file, function, _)| ((*file).to_owned(), (*function).to_owned())).collect();
    let new: Vec<_> = found.difference(&allowed).collect();
    assert!(new.is_empty(), "write these as cases in tests/cases/torch: {new:?}");
    let stale: Vec<_> = allowed.difference(&found).collect();
    assert!(stale.is_empty(), "these pin no torch: {stale:?}");
}

/// Whether a case expects a fact or a package of torch, or that there is none.
fn expects_torch(case: &Case) -> bool {
    let is_torch = |text: &str| text == "torch" || text.strip_prefix("torch").is_some_and(ends_a_name);
    case.facts.keys().map(String::as_str).any(is_torch)
        || case.absent.iter().map(String::as_str).any(is_torch)
        || case.packages.iter().flatten().map(String::as_str).any(is_torch)
}

/// Whether a name ends before this text, as in `.version` or `==2.4.0`.
fn ends_a_name(rest: &str) -> bool {
    rest.starts_with(['.', '=', '<', '>', '~', '!', '[', '?'])
}

/// The cases that expect facts or packages of torch in another place than the folder of torch.
fn misplaced(cases: &Cases) -> Vec<String> {
    let elsewhere = cases.cases.iter().filter(|case| !case.source.starts_with(FOLDER) && expects_torch(case));
    elsewhere.map(|case| format!("{}: {}", case.source, case.name)).collect()
}

#[test]
fn a_fact_of_torch_is_found_in_a_file_of_another_subject() {
    for (expected, found) in [
        (r#"facts = { "torch.version" = "2.4.0" }"#, true),
        (r#"facts = { "image.compat" = "-", "torch.cuda" = "?" }"#, true),
        (r#"absent = ["torch"]"#, true),
        (r#"packages = ["flask", "torch==2.4.0[cu121]"]"#, true),
        (r#"packages = ["torch?"]"#, true),
        (r#"facts = { "torchvision.version" = "0.19.0" }"#, false),
        (r#"facts = { "image.compat" = "-" }"#, false),
        (r#"packages = ["torchvision==0.19.0", "pytorch-lightning"]"#, false),
        ("fleet = \"t4\"\npools = [\"t4\"]\ncomponent = \"torch\"\nfate = \"fails\"\nfact = \"torch.code\"", false),
    ] {
        let of = |file: &str| {
            let text = format!("[[case]]\nname = \"planted\"\ndockerfile = \"FROM a\"\n{expected}\n");
            misplaced(&Cases::of([(file.to_owned(), text)]).expect("a case"))
        };
        let elsewhere: &[&str] = if found { &["gpu_code: planted"] } else { &[] };
        assert_eq!(of("gpu_code"), elsewhere, "{expected}");
        assert_eq!(of("torch/gpu_code"), [""; 0], "{expected}");
    }
}

#[test]
fn facts_of_torch_are_only_in_the_folder_of_torch() {
    let misplaced = misplaced(&Cases::read());
    assert!(misplaced.is_empty(), "move these to tests/cases/torch: {misplaced:#?}");
}
