//! Arguments of `pip install` and `uv pip install`.

use crate::install::Installs;
use crate::install::Manager;
use crate::install::RequirementFile;
use crate::install::Variant;
use crate::install::VariantSource;
use crate::install::VersionSpec;
use crate::install::requirement::normalised;
use crate::install::requirement::requirement;
use crate::install::variant::is_tag;
use crate::install::variant::tag_of_url;
use crate::shell::Command;
use crate::shell::Word;
use crate::source::Span;

const WITH_VALUE: &[&str] = &[
    "-t",
    "--target",
    "--prefix",
    "--root",
    "--src",
    "-b",
    "--build",
    "--python",
    "-p",
    "--python-version",
    "--platform",
    "--implementation",
    "--abi",
    "--trusted-host",
    "--allow-insecure-host",
    "--proxy",
    "--retries",
    "--timeout",
    "--default-timeout",
    "--cache-dir",
    "--log",
    "--progress-bar",
    "--upgrade-strategy",
    "--no-binary",
    "--only-binary",
    "--config-settings",
    "-C",
    "--global-option",
    "--install-option",
    "--exists-action",
    "--cert",
    "--client-cert",
    "--use-feature",
    "--use-deprecated",
    "--hash",
    "--index-strategy",
    "--prerelease",
    "--resolution",
    "--link-mode",
    "--keyring-provider",
    "--exclude-newer",
    "-P",
    "--upgrade-package",
    "--reinstall-package",
    "--report",
    "--group",
    "--no-build-isolation-package",
    "--refresh-package",
    "--extra",
    "--root-user-action",
];

/// The families whose builds an index of their own decides.
const TORCH_FAMILY: &[&str] = &[
    "torch",
    "torchvision",
    "torchaudio",
    "torchtext",
    "torchao",
    "torchcodec",
    "torchrec",
    "torchtune",
    "torchserve",
    "torchdata",
    "torch-tensorrt",
    "triton",
    "pytorch-triton",
    "pytorch-triton-rocm",
    "pytorch-triton-xpu",
    "xformers",
    "fbgemm-gpu",
    "fbgemm-gpu-genai",
    "vllm",
    "flash-attn",
    "deepspeed",
    "pyg-lib",
    "torch-scatter",
    "torch-sparse",
    "torch-cluster",
    "torch-spline-conv",
    "natten",
    "megablocks",
];

#[derive(Default)]
struct Options {
    index: Option<(String, Span)>,
    extra: Option<(String, Span)>,
    links: Option<(String, Span)>,
    backend: Option<(String, Span)>,
}

pub(super) fn read(
    words: &[Word],
    uv: bool,
    command: &Command,
    variable: &dyn Fn(&str) -> Option<String>,
    found: &mut Installs,
) {
    let mut rest = words.iter();
    let verb = loop {
        let Some(word) = rest.next() else { return };
        let Some(text) = word.known() else { return };
        if !text.starts_with('-') {
            break text;
        }
        if WITH_VALUE.contains(&text) {
            rest.next();
        }
    };
    if !matches!(verb, "install" | "sync" | "uninstall") {
        return;
    }
    let from = found.packages.len();
    let options = arguments(rest.as_slice(), verb, uv, command, found);
    let options = defaults(options, uv, command, variable);
    for package in &mut found.packages[from..] {
        package.conditional = command.conditional;
        if package.variant.is_none() && TORCH_FAMILY.contains(&package.name.as_str()) {
            let variant = |(tag, span): &(String, Span), from| Variant { tag: tag.clone(), from, span: *span };
            let exact = matches!(package.version, VersionSpec::Exact(_));
            package.variant = options.backend.as_ref().map(|one| variant(one, VariantSource::TorchBackend));
            let index = || options.index.as_ref().map(|one| variant(one, VariantSource::IndexUrl));
            let extra =
                || options.extra.as_ref().filter(|_| exact || uv).map(|one| variant(one, VariantSource::ExtraIndex));
            let links = || options.links.as_ref().filter(|_| exact).map(|one| variant(one, VariantSource::FindLinks));
            package.variant = package.variant.take().or_else(extra).or_else(index).or_else(links);
            if package.variant.is_none() {
                package.extra_index = options.extra.as_ref().map(|(tag, _)| tag.clone());
            }
        }
    }
}

fn arguments(words: &[Word], verb: &str, uv: bool, command: &Command, found: &mut Installs) -> Options {
    let mut options = Options::default();
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else {
            unresolved(word, verb, command, found);
            continue;
        };
        if !text.starts_with('-') {
            package(word, text, verb, found);
            continue;
        }
        let (name, inline) = split_option(text);
        let mut value = |inline: Option<&str>| match inline {
            Some(value) => Some((value.to_owned(), word.span)),
            None => rest.next().and_then(|next| next.known().map(|value| (value.to_owned(), next.span))),
        };
        let tag = |given: Option<(String, Span)>| given.and_then(|(url, span)| Some((tag_of_url(&url)?, span)));
        match name {
            "-i" | "--index-url" | "--default-index" => options.index = tag(value(inline)),
            "--extra-index-url" | "--index" => options.extra = tag(value(inline)).or(options.extra.take()),
            "-f" | "--find-links" => options.links = tag(value(inline)).or(options.links.take()),
            "--torch-backend" => options.backend = value(inline).filter(|(tag, _)| is_tag(tag)),
            "-r" | "--requirement" | "--requirements" | "-c" | "--constraint" | "--constraints" | "--override" => {
                let constraint = !matches!(name, "-r" | "--requirement" | "--requirements");
                let next = if inline.is_none() { rest.next() } else { None };
                let path = match (inline, next) {
                    (Some(path), _) => crate::dockerfile::Resolved::literal(path),
                    (None, Some(next)) => next.value.clone(),
                    (None, None) => continue,
                };
                let span = next.map_or(word.span, |next| next.span);
                found.files.push(RequirementFile { path, constraint, span });
            }
            "-e" | "--editable" => drop(value(inline)),
            _ if inline.is_none() && WITH_VALUE.contains(&name) && !(uv && name == "--hash") => drop(value(None)),
            _ => {}
        }
    }
    options
}

/// `--name=value`, or a short option with its value behind it.
fn split_option(text: &str) -> (&str, Option<&str>) {
    if text.starts_with("--") {
        return text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    }
    match text.get(..2) {
        Some(short @ ("-r" | "-c" | "-i" | "-f" | "-e")) if text.len() > 2 => (short, text.get(2..)),
        _ => (text, None),
    }
}

fn package(word: &Word, text: &str, verb: &str, found: &mut Installs) {
    if verb == "uninstall" {
        found.removed.push((Manager::Pip, normalised(text), word.span));
    } else if verb == "sync" {
        let path = word.value.clone();
        found.files.push(RequirementFile { path, constraint: false, span: word.span });
    } else if let Some(package) = requirement(text, word.span) {
        found.packages.push(package);
    }
}

/// A word such as `torch==$V`: the name is known though the version is not.
fn unresolved(word: &Word, verb: &str, command: &Command, found: &mut Installs) {
    let raw = word.raw.trim_matches(['"', '\'']);
    let name = raw.split(['=', '<', '>', '~', '!', '$', '`', '{']).next().unwrap_or("");
    let pinned = raw.get(name.len()..).is_some_and(|rest| rest.starts_with(['=', '<', '>', '~', '!']));
    match requirement(name, word.span) {
        Some(mut package) if pinned && verb == "install" => {
            package.version = VersionSpec::Unresolved;
            package.conditional = command.conditional;
            found.packages.push(package);
        }
        _ => found.unresolved.push((word.value.clone(), word.span)),
    }
}

fn defaults(mut options: Options, uv: bool, command: &Command, variable: &dyn Fn(&str) -> Option<String>) -> Options {
    let tag = |names: &[&str]| {
        let url = names.iter().find_map(|name| variable(name))?;
        let tag = url.split_whitespace().find_map(tag_of_url)?;
        Some((tag, command.span))
    };
    let (index, extra, links): (&[&str], &[&str], &[&str]) = if uv {
        (&["UV_DEFAULT_INDEX", "UV_INDEX_URL"], &["UV_INDEX", "UV_EXTRA_INDEX_URL"], &["UV_FIND_LINKS"])
    } else {
        (&["PIP_INDEX_URL"], &["PIP_EXTRA_INDEX_URL"], &["PIP_FIND_LINKS"])
    };
    options.index = options.index.or_else(|| tag(index));
    options.extra = options.extra.or_else(|| tag(extra));
    options.links = options.links.or_else(|| tag(links));
    if uv && options.backend.is_none() {
        options.backend = variable("UV_TORCH_BACKEND").filter(|tag| is_tag(tag)).map(|tag| (tag, command.span));
    }
    options
}
