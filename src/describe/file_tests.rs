//! Descriptions read, write and read back; bad ones say what and where.

use super::*;

const FULL_DESCRIPTION: &str = r#"of = "dockerfile"
base_unknown = { reason = "no value", supply = "give it", repository = "nvidia/cuda" }
base = "nvidia/cuda:11.2.2-cudnn8-devel-ubuntu20.04"
as_of = 2021-06-29
platform = "linux/amd64"
cuda_runtime = "11.2.2"
entrypoint = ["/opt/start.sh", "--all"]
command = ["--port", "80"]
tag_now = ["CUDA_VERSION: now 12.4"]
complete = ["env", "packages", "files", "code"]
removed = ["/usr/local/cuda/compat", "cuda-compat-12-4"]

[env]
NVIDIA_VISIBLE_DEVICES = "all"
"odd name" = "a\"\\\n\t\u0001\u007Fé"

[env_on_base]
LD_LIBRARY_PATH = "/opt/x:${LD_LIBRARY_PATH}"
PATH = { set = "/a:${PATH}", unset = "/a" }

[packages]
other_python = true
by_driver = "conda install x=*=cuda*"
gone = [{ manager = "pip", name = "torch", command = 2 }]

[packages.pip]
torch = ["1.9.0+cu102", { version = ">=2", conditional = "a branch", extra_index = ["cu118"], upgrade = true, alone = true, environment = "/opt/venv", python = "3.11", command = 3 }]
jax = { unknown = "$V", variant = "cpu", index = "cpu", index_unknown = "$I" }
bare = {}

[packages.apt]
"libstdc++6" = "10"

[packages.bounds]
numpy = "<2"

[files]
"/usr/local/cuda-12.9/compat/libcuda.so.575.57.08" = { elf_note = { cuda = "12.9", driver = [535, 575], device = [1, 2] } }
"/usr/local/cuda" = { link = "cuda-12.9" }
"/etc/ld.so.conf.d/cuda-compat.conf" = { text = "/usr/local/cuda/compat" }
"/bare" = {}
"/opt/app" = { needs = ["libcudart.so.11.0"], opens = ["libnvcuvid.so.1"] }

[[gpu_code]]
file = "torch/lib/libtorch_cuda.so"
component = "torch"
sass = ["sm_37", "sm_50"]
ptx = []
needs = ["libcublas.so.11"]
opens = ["libcudnn.so.8"]

[[gpu_code]]
ptx = ["compute_90a"]
"#;

/// Reads a description.
fn read_description(text: &str) -> Result<ImageDescription, DescriptionErrors> {
    ImageDescription::read(&SourceText::new("a.image.toml", text))
}

#[test]
fn reads_and_writes_back_to_the_letter() {
    let description = read_description(FULL_DESCRIPTION).expect("good description");
    assert_eq!(description.to_toml(), FULL_DESCRIPTION);
    let base = description.base.expect("base");
    assert_eq!(&FULL_DESCRIPTION[base.span.start..base.span.end], format!("\"{}\"", base.value));
    assert_eq!(description.gpu_code[0].ptx, Some(Vec::new()));
    assert_eq!(description.gpu_code[1].sass, None);
}

#[test]
fn description_survives_json() {
    let description = read_description(FULL_DESCRIPTION).expect("good description");
    let json = description.to_json();
    let again = ImageDescription::from_json(json.clone()).expect("good json");
    assert_eq!(again.to_json(), json);
    assert_eq!(again.gpu_code, description.gpu_code);
    assert_eq!(again.files.len(), 5);
    assert!(ImageDescription::from_json(serde_json::json!({ "base": null })).is_err());
    let error = ImageDescription::from_json(serde_json::json!({ "bas": "x" })).expect_err("unknown key");
    assert_eq!(error.to_string(), "unknown key `bas`");
}

#[test]
fn an_older_description_names_no_environment() {
    let written = |field: &str| {
        let text = format!("[packages.pip]\ntorch = {{ version = \"2.6.0\", {field} }}\n");
        read_description(&text).expect("good description").to_toml()
    };
    assert_eq!(written("apart = true"), "[packages.pip]\ntorch = { version = \"2.6.0\", environment = \"\" }\n");
    assert_eq!(written("apart = false"), "[packages.pip]\ntorch = \"2.6.0\"\n");
}

#[test]
fn every_description_field_is_optional() {
    let description = read_description("").expect("empty description");
    assert_eq!(description, ImageDescription::default());
    assert_eq!(description.to_toml(), "");
}

#[test]
fn invalid_file_is_reported_with_its_line() {
    for (text, expected) in [
        ("bse = 1", "1:1 unknown key `bse` | did you mean `base`?"),
        ("as_of = 2021-06-29T10:00:00", "1:9 `2021-06-29T10:00:00` is not a date | such as 2021-06-29"),
        ("cuda_runtime = 11.2", "1:16 `cuda_runtime` is a float, expected a string | put it in quotes: \"11.2\""),
        ("complete = [\"package\"]", "1:13 unknown family `package` | did you mean `packages`?"),
        ("entrypoint = [1]", "1:15 `entrypoint` is an integer, expected a string | put it in quotes: \"1\""),
        ("[[gpu_code]]\nneeds = { a = 1 }", "2:9 `needs` is a table, expected a string"),
        ("[env_on_base]\nA = { unset = \"/a\" }", "2:1 `A` has no `set`"),
        ("[env_on_base]\nA = { sat = \"/a\" }", "2:1 `A` has no `set`; 2:7 unknown key `sat` | did you mean `set`?"),
        ("[env_on_base]\nA = 1", "2:5 `A` is an integer, expected a string | put it in quotes: \"1\""),
        ("removed = { a = 1 }", "1:11 `removed` is a table, expected a string"),
        ("complete = true", "1:12 `complete` is a boolean, expected a list"),
        (
            "[packages.pypi]\na = \"1\"",
            "1:11 unknown key `pypi` | the keys are pip, conda, apt, bounds, gone, other_python, by_driver, unread, unknown_wheels, untold, keeping, renewing, reinstalling, ignoring_requirements",
        ),
        ("of = \"image\"", "1:6 unknown source `image` | one of dockerfile, config, sbom, layers"),
        ("[packages.pip]\na = 1", "2:5 `a` is an integer, expected a string or a table | put it in quotes: \"1\""),
        ("[packages.pip]\na = { versio = \"1\" }", "2:7 unknown key `versio` | did you mean `version`?"),
        ("[packages]\ngone = [{ manager = \"npm\" }]", "2:9 unknown manager `npm` | one of pip, conda, apt"),
        ("[files]\n\"/a\" = { lnk = \"b\" }", "2:10 unknown key `lnk` | did you mean `link`?"),
        (
            "platform = \"amd64\"",
            "1:12 `amd64` is not a platform: expected system/architecture | did you mean `linux/amd64`?",
        ),
        (
            "platform = [\"linux/amd64\", \"linux/aarch64\"]",
            "1:28 `linux/aarch64` is not a platform: expected system/architecture | did you mean `linux/arm64`?",
        ),
        (
            "platform = \"linux\"",
            "1:12 `linux` is not a platform: expected system/architecture | such as linux/amd64 or linux/arm64",
        ),
        (
            "platform = \"linx/amd46\"",
            "1:12 `linx/amd46` is not a platform: expected system/architecture | did you mean `linux/amd64`?",
        ),
        (
            "[files]\n\"usr/lib/libcuda.so.1\" = {}",
            "2:1 `usr/lib/libcuda.so.1` is not an absolute path in the image | did you mean `/usr/lib/libcuda.so.1`?",
        ),
        (
            "[[gpu_code]]\nptx = [\"sm_80\"]",
            "2:8 `sm_80` is native code, but the key is `ptx` | write `compute_80`, or move it to `sass`",
        ),
        (
            "[[gpu_code]]\nlinkable = [\"sm_80\"]",
            "2:13 `sm_80` is native code, but the key is `linkable` | write `compute_80`, or move it to `sass`",
        ),
        (
            "[[gpu_code]]\nsass = [\"sm_75\", \"compute_80\"]",
            "2:18 `compute_80` is PTX, but the key is `sass` | write `sm_80`, or move it to `ptx`",
        ),
        (
            "[[gpu_code]]\nsass = [\"sm_x\"]",
            "2:9 `sm_x` is not a code target: expected sm_XY or compute_XY, such as sm_90a",
        ),
    ] {
        let source = SourceText::new("a.image.toml", text);
        let errors = ImageDescription::read(&source).expect_err(text);
        let found: Vec<String> = errors
            .all()
            .iter()
            .map(|problem| {
                let help = problem.help.as_ref().map(|help| format!(" | {help}")).unwrap_or_default();
                format!("{} {}{help}", source.position(problem.span.start), problem.message)
            })
            .collect();
        assert_eq!(found.join("; "), expected, "{text}");
    }
}

#[test]
fn valid_values_are_accepted() {
    for text in [
        "platform = \"linux/arm64/v8\"",
        "platform = [\"linux/amd64\", \"windows/amd64\"]",
        "[packages.pip]\ntorch = \"2.1.0+cu121\"\njax = \">=0.4,<1\"\nnumpy = \"*\"\nscipy = \"\"\ntf = \"v2.15\"\nx = \"~=1.2\"",
        "[packages.pip]\ntorch = \"nightly\"",
        "[packages.conda]\nfoo = \"banana\"",
        "[packages.apt]\nlibc6 = \"banana\"",
        "[[gpu_code]]\nsass = [\"80\", \"8.6\", \"sm_90a\"]\nptx = [\"90\", \"compute_90a\"]",
        // A program writes down what stands in a Dockerfile, and it is judged again as it was.
        "of = \"dockerfile\"\nplatform = \"bogus\"\n[packages.pip]\ntorch = \"banana\"",
    ] {
        if let Err(error) = read_description(text) {
            panic!("{text}: {error}: {:?}", error.all());
        }
    }
}

#[test]
fn no_input_panics() {
    for end in (0..FULL_DESCRIPTION.len()).filter(|end| FULL_DESCRIPTION.is_char_boundary(*end)) {
        let _ = read_description(&FULL_DESCRIPTION[..end]);
    }
}
