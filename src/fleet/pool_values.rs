//! Parsers for the values of pool fields: drivers, GPUs, patterns, versions.

use globset::{Glob, GlobBuilder};
use toml::de::DeValue;

use crate::cuda::{ComputeCapability, CudaVersion, DriverVersion};
use crate::fleet::{Declared, DriverSpec, GpuSpec, Pool};
use crate::knowledge::toml_reader::{Reader, Value, entries, span_of};

/// The GPU brands that NVML reports, in lower case.
const BRANDS: &[&str] = &[
    "quadro",
    "tesla",
    "nvs",
    "grid",
    "geforce",
    "titan",
    "vapps",
    "vpc",
    "vcs",
    "vws",
    "cloudgaming",
    "quadrortx",
    "nvidiartx",
    "nvidia",
    "geforcertx",
    "titanrtx",
    "unknown",
];

/// The keys of a GPU table.
const GPU_KEYS: &[&str] = &["name", "count", "compute_capability", "brand", "mig"];

/// Parses an absolute directory and removes trailing slashes.
pub(crate) fn parse_directory(text: &str) -> Result<String, String> {
    if !text.starts_with('/') {
        return Err(format!("`{text}` is not an absolute path"));
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// The minimum number of digits of a driver branch.
const MIN_BRANCH_DIGITS: usize = 3;

/// Parses a driver version, branch or range; the error is a message.
pub(crate) fn parse_driver(text: &str) -> Result<DriverSpec, String> {
    let text = text.trim();
    if text.starts_with(['<', '>', '=']) {
        return parse_driver_range(text);
    }
    if text.len() <= 9
        && !text.contains('.')
        && let Ok(branch) = text.parse::<DriverVersion>()
    {
        return Ok(DriverSpec::Branch(branch.branch()));
    }
    let suggestion =
        || find_dotted_numbers(text).and_then(|numbers| driver_suggestion(text, numbers)).unwrap_or_default();
    text.parse().map(DriverSpec::Exact).map_err(|error| format!("{error}{}", suggestion()))
}

/// Returns the suggestion for a driver with extra text before or after its version; `None` where the version is no
/// driver version either.
fn driver_suggestion(text: &str, numbers: &str) -> Option<String> {
    let has_branch = numbers.split('.').next().is_some_and(|branch| branch.len() >= MIN_BRANCH_DIGITS);
    let of_cuda = numbers.matches('.').count() == 1 || text.to_ascii_lowercase().contains("cuda");
    match (has_branch, of_cuda) {
        (true, _) => Some(format!("; did you mean `{numbers}`?")),
        (false, true) => Some(format!("; did you mean `driver_cuda = \"{numbers}\"`?")),
        (false, false) => None,
    }
}

/// Returns the first dotted numbers in a text: `535` of `R535`, `550.54` of `550.54.x`.
fn find_dotted_numbers(text: &str) -> Option<&str> {
    let start = text.find(|sign: char| sign.is_ascii_digit())?;
    let rest = text.get(start..)?;
    let end = rest.find(|sign: char| !(sign.is_ascii_digit() || sign == '.')).unwrap_or(rest.len());
    rest.get(..end).map(|numbers| numbers.trim_end_matches('.'))
}

/// Parses a driver range, such as `>=535.161,<536`.
fn parse_driver_range(text: &str) -> Result<DriverSpec, String> {
    let (mut from, mut before) = (None, None);
    for bound in text.split(',').map(str::trim) {
        let (side, version) = if let Some(version) = bound.strip_prefix(">=") {
            (&mut from, version)
        } else if let Some(version) = bound.strip_prefix('<').filter(|version| !version.starts_with('=')) {
            (&mut before, version)
        } else {
            return Err(format!("`{bound}` is not a bound of a driver range; use >= and <"));
        };
        let version: DriverVersion =
            version.trim().parse().map_err(|error: crate::cuda::BadVersion| error.to_string())?;
        if side.replace(version).is_some() {
            return Err(format!("`{text}` has two bounds on the same side"));
        }
    }
    if let (Some(from), Some(before)) = (from, before)
        && from >= before
    {
        return Err(format!("`{text}` matches no driver"));
    }
    Ok(DriverSpec::Range { from, before })
}

/// Compiles a path pattern, in which `*` does not match a slash.
pub(crate) fn compile_path_glob(text: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(text).literal_separator(true).build()
}

/// Compiles an image pattern, in which `*` also matches slashes, tags and digests.
pub(crate) fn compile_image_glob(text: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(text).literal_separator(false).build()
}

/// Whether an image pattern matches a reference; an error where the pattern is invalid.
pub(crate) fn image_pattern_matches(pattern: &str, reference: &str) -> Result<bool, String> {
    compile_image_glob(pattern)
        .map(|glob| glob.compile_matcher().is_match(reference))
        .map_err(|error| error.to_string())
}

/// Whether a text is a MIG profile: slices, memory and attributes, as in `3g.20gb`, `1c.3g.20gb`, `1g.10gb+me` or
/// `1g.24gb-me`.
pub(crate) fn is_mig_profile(text: &str) -> bool {
    let slices = |part: &str, unit: char| {
        let number = part.strip_suffix(unit).and_then(|number| number.parse::<u8>().ok());
        number.filter(|number| (1..=MAX_MIG_SLICES).contains(number) && part.len() == 2)
    };
    let text = text.strip_prefix("MIG ").unwrap_or(text);
    let (size, attributes) = text.find(['+', '-']).map_or((text, ""), |at| text.split_at(at));
    let named = |attribute: &str| {
        let word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
        attribute.split('.').all(word)
    };
    if !(attributes.is_empty() || attributes.split(['+', '-']).skip(1).all(named)) {
        return false;
    }
    let memory = |part: &str| {
        let number = part.strip_suffix("gb").unwrap_or_default();
        !number.is_empty() && number.len() < 5 && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    match size.split('.').collect::<Vec<&str>>()[..] {
        [gpu, size] => slices(gpu, 'g').is_some() && memory(size),
        [compute, gpu, size] => {
            let slices = slices(compute, 'c').zip(slices(gpu, 'g'));
            slices.is_some_and(|(compute, gpu)| compute <= gpu) && memory(size)
        }
        _ => false,
    }
}

/// The maximum number of MIG slices of a GPU.
const MAX_MIG_SLICES: u8 = 7;

impl Pool {
    /// Whether the images of a Dockerfile run on this pool; `path` is relative to the fleet file, with slashes.
    pub fn runs_dockerfile(&self, path: &str) -> bool {
        let path = path.strip_prefix("./").unwrap_or(path);
        any_glob_matches(&self.dockerfiles, path, compile_path_glob)
    }

    /// Whether an image runs on this pool, by its reference as written.
    pub fn runs_image(&self, reference: &str) -> bool {
        any_glob_matches(&self.images, reference, compile_image_glob)
    }
}

/// Whether a text matches one of the patterns; an empty list matches everything.
fn any_glob_matches(globs: &[Declared<String>], text: &str, compile: fn(&str) -> Result<Glob, globset::Error>) -> bool {
    globs.is_empty()
        || globs.iter().filter_map(|glob| compile(&glob.value).ok()).any(|glob| glob.compile_matcher().is_match(text))
}

impl Reader {
    /// Reads a string with its position.
    pub(crate) fn declared_string(&mut self, key: &str, value: &Value<'_>) -> Option<Declared<String>> {
        self.string(key, value).map(|text| Declared { value: text, span: span_of(value) })
    }

    /// Reads a boolean with its position.
    pub(crate) fn declared_boolean(&mut self, key: &str, value: &Value<'_>) -> Option<Declared<bool>> {
        self.boolean(key, value).map(|flag| Declared { value: flag, span: span_of(value) })
    }

    /// Reads a string and parses it with a function that returns a value or an error message.
    pub(crate) fn parsed_string<T>(
        &mut self,
        key: &str,
        value: &Value<'_>,
        parse: impl Fn(&str) -> Result<T, String>,
        help: Option<&str>,
    ) -> Option<Declared<T>> {
        let text = self.string(key, value)?;
        match parse(&text) {
            Ok(parsed) => Some(Declared { value: parsed, span: span_of(value) }),
            Err(message) => {
                self.report(span_of(value), message, help.map(str::to_owned));
                None
            }
        }
    }

    /// Reads a dotted version.
    pub(crate) fn dotted_version(&mut self, key: &str, value: &Value<'_>) -> Option<Declared<CudaVersion>> {
        let parse = |text: &str| {
            let suggestion =
                find_dotted_numbers(text).map(|numbers| format!("; did you mean `{numbers}`?")).unwrap_or_default();
            text.parse().map_err(|_| format!("`{text}` is not a version{suggestion}"))
        };
        self.parsed_string(key, value, parse, Some("use numbers with dots, such as 1.17.8"))
    }

    /// Reads a compute capability.
    pub(crate) fn compute_capability(&mut self, value: &Value<'_>) -> Option<Declared<ComputeCapability>> {
        let parse = |text: &str| text.parse().map_err(|error: crate::cuda::BadVersion| error.to_string());
        self.parsed_string("compute_capability", value, parse, None)
    }

    /// Reads a keyword of a closed set.
    pub(crate) fn keyword<T: std::str::FromStr>(
        &mut self,
        key: &str,
        value: &Value<'_>,
        words: &[&str],
    ) -> Option<Declared<T>> {
        let text = self.string(key, value)?;
        let parsed = text.parse().ok().map(|word| Declared { value: word, span: span_of(value) });
        if parsed.is_none() {
            self.unknown_word(key, &text, span_of(value), words);
        }
        parsed
    }

    /// Reads a GPU brand and converts it to lower case.
    pub(crate) fn brand(&mut self, value: &Value<'_>) -> Option<Declared<String>> {
        let text = self.string("brand", value)?;
        let brand = text.to_lowercase();
        if BRANDS.contains(&brand.as_str()) {
            return Some(Declared { value: brand, span: span_of(value) });
        }
        self.unknown_word("brand", &text, span_of(value), BRANDS);
        None
    }

    /// Reads one or more patterns and checks that they compile.
    pub(crate) fn globs(
        &mut self,
        key: &str,
        value: &Value<'_>,
        compile: fn(&str) -> Result<Glob, globset::Error>,
    ) -> Vec<Declared<String>> {
        let parse = |text: &str| {
            compile(text)
                .map_err(|error| format!("`{text}` is not a pattern: {}", error.kind()))
                .map(|_| text.to_owned())
        };
        Self::one_or_more(value).into_iter().filter_map(|glob| self.parsed_string(key, glob, parse, None)).collect()
    }

    /// Reads a GPU: its name, or a table of its properties.
    pub(crate) fn gpu(&mut self, value: &Value<'_>) -> Option<Declared<GpuSpec>> {
        let named = |name| GpuSpec { name, count: None, compute_capability: None, brand: None, mig: None };
        let span = span_of(value);
        let Some(table) = value.get_ref().as_table() else {
            if value.get_ref().is_str() {
                return self.string("gpu", value).map(|name| Declared { value: named(name), span });
            }
            self.wrong_type("gpu", value, "a string, a table or a list of them");
            return None;
        };
        let mut gpu = named(String::new());
        let mut name_span = None;
        for (key, key_span, value) in entries(table) {
            match key {
                "name" => {
                    name_span = Some(span_of(value));
                    gpu.name = self.string(key, value).unwrap_or_default();
                }
                "count" => gpu.count = self.number(key, value),
                "compute_capability" => {
                    gpu.compute_capability = self.compute_capability(value).map(|found| found.value);
                }
                "brand" => gpu.brand = self.brand(value).map(|found| found.value),
                "mig" => match value.get_ref() {
                    DeValue::Boolean(mig) => gpu.mig = mig.then(String::new),
                    DeValue::String(text) => {
                        gpu.mig = Some(text.to_string());
                        if !is_mig_profile(text) {
                            let help = "use a profile from `nvidia-smi mig -lgip`, such as 1g.5gb, 1g.10gb+me or \
                                        1c.3g.20gb";
                            self.report(
                                span_of(value),
                                format!("`{text}` is not a MIG profile"),
                                Some(help.to_owned()),
                            );
                        }
                    }
                    _ => self.wrong_type(key, value, "true, false or a profile as a string"),
                },
                _ => self.unknown_key(key, key_span, GPU_KEYS),
            }
        }
        if name_span.is_none() {
            self.report(span, "the GPU has no `name`", None);
        }
        name_span.map(|span| Declared { value: gpu, span })
    }
}

#[cfg(test)]
mod tests {
    use super::is_mig_profile;

    #[test]
    fn a_mig_profile_has_slices_and_memory() {
        for text in ["1g.5gb", "7g.80gb", "1g.10gb+me", "1c.3g.20gb", "1g.24gb-me", "2g.48gb+gfx", "4g.96gb+me.all"] {
            assert!(is_mig_profile(text), "{text}");
        }
        for text in [
            "",
            "9z.1",
            "1g",
            "1g.",
            "1g.gb",
            "g.5gb",
            "0g.5gb",
            "8g.80gb",
            "1g.5",
            "1g.5GB",
            "1G.5gb",
            "1g.5gb+",
            "1g5gb",
            "01g.5gb",
            "4c.3g.20gb",
            "1c.1c.3g.20gb",
            "all",
            "true",
            "1g.5gb+ME",
            "1g.99999gb",
            "1é.5gb",
            "+me",
            "+1g.5gb",
        ] {
            assert!(!is_mig_profile(text), "{text}");
        }
    }
}
