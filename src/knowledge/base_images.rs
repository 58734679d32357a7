//! Queries about base images: their tags, stages, contents and recipes.

use jiff::civil::Date;

use crate::cuda::CudaVersion;
use crate::knowledge::rows::{
    BaseFamilyRow, CodeFloorRow, CudaFlavourRow, CudaImageRow, CudaRecipeRow, DriverProgramRow, GpuImageRow,
    ImageArchesRow, MonitoringProgramRow, NgcReleaseRow, OtherProcessorRow, PackageFloorRow, RowInfo,
};
use crate::knowledge::{Knowledge, RowVersion};
use crate::model::package::ExactVersion;

/// Returns the month at the beginning of a tag: `23.10` of `23.10-py3`.
fn month_of_tag(tag: &str) -> Option<&str> {
    let month = tag.split('-').next()?;
    let digits = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    month.split_once('.').is_some_and(|(year, month)| digits(year) && digits(month)).then_some(month)
}

/// Words that negate the other words of a name.
const NEGATIONS: &[&str] = &["no", "non", "not", "without"];

/// Whether a word of a tag matches a pattern of the tables: `gpu`, or `cu#` for `cu` with two to four digits.
fn matches_tag_pattern(word: &str, own: &str) -> bool {
    let Some(own) = own.strip_suffix('#') else { return word == own };
    let Some(rest) = word.strip_prefix(own).filter(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    else {
        return false;
    };
    rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && (2..=4).contains(&rest.replace('.', "").len())
}

/// The parts of a full tag: `11.8.0-cudnn8-devel-ubuntu22.04`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CudaTagParts<'a> {
    version: &'a str,
    cudnn: Option<&'a str>,
    flavour: &'a str,
    os: &'a str,
}

/// A tag that has never existed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSuchTag {
    /// The part that does not exist: `12.4`, `debian11`.
    pub part: String,
    /// The most similar tag that exists.
    pub nearest: Option<String>,
}

impl Knowledge {
    /// Returns the flavour in the tag of a CUDA image.
    pub fn cuda_flavour(self, tag: &str) -> Option<&'static CudaFlavourRow> {
        let of = |word| self.cuda_flavours().iter().find(move |row| row.name == word);
        tag.split('-').find_map(of)
    }

    /// Returns the CUDA version of the compiler in an image of a known family.
    pub fn compiler_cuda(self, repository: &str, tag: &str) -> Option<CudaVersion> {
        let family = self.base_family(repository)?;
        if family.monthly {
            return self.ngc_release(family, tag).map(|row| row.cuda);
        }
        let version = tag.split('-').next().filter(|_| family.cuda_base && self.flavour_has_compiler(tag));
        version.and_then(|version| version.parse().ok())
    }

    /// Whether a tag names a flavour that contains a compiler.
    pub fn flavour_has_compiler(self, tag: &str) -> bool {
        self.cuda_flavour(tag).is_some_and(|row| row.compiler)
    }

    /// Returns the flavour without the libraries of any other flavour.
    pub fn smallest_cuda_flavour(self) -> Option<&'static str> {
        self.cuda_flavours().iter().find(|row| row.holds.is_empty()).map(|row| row.name)
    }

    /// Whether a package may contain a compiler for GPU code.
    pub fn is_compiler_package(self, name: &str) -> bool {
        let mut rows = self.compiler_packages().iter();
        rows.any(|row| if row.prefix { name.starts_with(row.name) } else { name == row.name })
    }

    /// Returns the names of all variables that the images of a repository set; `None` if they are unknown.
    pub fn base_image_variables(self, repository: &str) -> Option<&'static [&'static str]> {
        let mut rows = self.base_variables().iter();
        rows.find(|row| row.repository == repository).map(|row| row.names)
    }

    /// Returns the monthly release that a tag of a family names, if the content of that tag is the one of the month.
    pub fn ngc_release(self, family: &BaseFamilyRow, tag: &str) -> Option<&'static NgcReleaseRow> {
        let own = family.monthly && !tag.split('-').any(|word| family.other_months.contains(&word));
        let month = month_of_tag(tag).filter(|_| own)?;
        self.ngc_releases().iter().find(|row| row.month == month)
    }

    /// Returns the tags that differ from a tag only in the month, for months known to have such a tag.
    pub fn tags_of_other_months(self, family: &BaseFamilyRow, tag: &str) -> Vec<String> {
        let Some(own) = self.ngc_release(family, tag) else { return Vec::new() };
        let of_month = |how: &str, row: &NgcReleaseRow| {
            let (major, minor) = row.cuda.release();
            how.replace("{month}", row.month).replace("{cuda}", &format!("{major}.{minor}"))
        };
        let mut found: Vec<String> = Vec::new();
        if let Some(how) = family.month_tag.filter(|how| of_month(how, own) == tag) {
            found.extend(self.ngc_releases().iter().filter(|row| row.torch.is_some()).map(|row| of_month(how, row)));
        }
        let rows = self.month_tags().iter().filter(|row| row.repository == family.repository);
        for row in rows.filter(|row| of_month(row.tag, own) == tag) {
            let months = self.ngc_releases().iter().filter(|release| row.months.contains(&release.month));
            found.extend(months.map(|release| of_month(row.tag, release)));
        }
        found
    }

    /// Returns the torch version in a base image, according to the tables.
    pub fn base_image_torch(self, repository: &str, tag: &str) -> Option<RowVersion> {
        let of_month = || self.ngc_release(self.base_family(repository).filter(|family| family.torch)?, tag)?.torch;
        self.framework_image(repository, tag).and_then(|row| row.torch).or_else(of_month)
    }

    /// Returns the torch versions of the months before and after a monthly tag whose own version is unknown, as far as
    /// the tables list them; `None` for other tags.
    pub fn ngc_torch_bounds(self, family: &BaseFamilyRow, tag: &str) -> Option<[Option<RowVersion>; 2]> {
        let rows = || self.ngc_releases().iter().filter(|row| row.torch.is_some());
        let month = month_of_tag(tag).filter(|_| family.monthly && family.torch)?;
        if rows().any(|row| row.month == month) {
            return None;
        }
        let before = rows().filter(|row| row.month < month).max_by_key(|row| row.month);
        let after = rows().filter(|row| row.month > month).min_by_key(|row| row.month);
        Some([before, after].map(|row| row?.torch))
    }

    /// Returns the first and the last month in the tables.
    pub fn ngc_month_range(self) -> Option<(&'static str, &'static str)> {
        let rows = self.ngc_releases();
        Some((rows.first()?.month, rows.last()?.month))
    }

    /// Returns the row with the lowest compute capability that the program of an image supports.
    pub fn code_floor(self, repository: &str, tag: &str) -> Option<&'static CodeFloorRow> {
        let month = month_of_tag(tag)?;
        let holds = |row: &&CodeFloorRow| row.from <= month && row.before.is_none_or(|before| month < before);
        self.code_floors().iter().filter(|row| row.repository == repository).find(holds)
    }

    /// Returns the row with the lowest compute capability that a release supports; without a release, that of the
    /// newest.
    pub fn package_floor(self, distribution: &str, release: Option<&ExactVersion>) -> Option<&'static PackageFloorRow> {
        let holds = |row: &&PackageFloorRow| match release {
            Some(release) => {
                let reached = |bound: RowVersion| release.reaches(bound);
                reached(row.from) && !row.before.is_some_and(reached)
            }
            None => row.before.is_none(),
        };
        self.package_floors().iter().filter(|row| row.distribution == distribution).find(holds)
    }

    /// Returns the row which shows that an image name is for GPUs: by repository prefix, otherwise by a word of the
    /// name.
    pub fn gpu_image_evidence(self, repository: &str, tag: &str) -> Option<&'static RowInfo> {
        let begins = |row: &&GpuImageRow| row.name.strip_suffix('*').is_some_and(|begin| repository.starts_with(begin));
        let by_repository = self.gpu_images().iter().filter(begins).max_by_key(|row| row.name.len());
        if let Some(row) = by_repository {
            return Some(&row.info).filter(|_| !row.without);
        }
        let last = repository.rsplit('/').next().unwrap_or(repository);
        let words = || tag.split(['-', '_', '+']).chain(last.split(['-', '_', '.']));
        let has = |row: &&GpuImageRow| {
            row.name.strip_prefix(':').is_some_and(|own| words().any(|word| matches_tag_pattern(word, own)))
        };
        self.gpu_images().iter().find(has).map(|row| &row.info)
    }

    /// Returns the processor other than an NVIDIA GPU that a package is for.
    pub fn other_processor_of_package(self, name: &str) -> Option<&'static OtherProcessorRow> {
        let is = |row: &&OtherProcessorRow| match row.name.strip_suffix('*') {
            Some(begin) => name.starts_with(begin),
            None => name == row.name,
        };
        self.other_processors().iter().filter(|row| row.kind == "package").find(is)
    }

    /// Returns the processor other than an NVIDIA GPU that a word of a name specifies.
    pub fn other_processor_of_word(self, word: &str) -> Option<&'static OtherProcessorRow> {
        self.other_processors().iter().find(|row| row.kind == "word" && row.name.eq_ignore_ascii_case(word))
    }

    /// Returns the processor other than an NVIDIA GPU that a name specifies; `None` if a word names a GPU or is a
    /// negation.
    pub fn other_processor_of_words(self, words: &[String]) -> Option<&'static OtherProcessorRow> {
        let of_gpus = |word: &str| {
            let names =
                |row: &GpuImageRow| row.name.strip_prefix(':').is_some_and(|own| matches_tag_pattern(word, own));
            self.gpu_images().iter().any(names)
        };
        if words.iter().any(|word| NEGATIONS.contains(&word.as_str()) || of_gpus(word)) {
            return None;
        }
        words.iter().find_map(|word| self.other_processor_of_word(word))
    }

    /// Returns the processor that the last words of a part of a file name specify.
    pub fn other_processor_of_file_part(self, words: &[String]) -> Option<&'static OtherProcessorRow> {
        let ends = |row: &&OtherProcessorRow| match row.kind {
            "word" => words.last().is_some_and(|word| word == row.name),
            "phrase" => words.ends_with(&row.name.split('-').map(str::to_owned).collect::<Vec<_>>()),
            _ => false,
        };
        self.other_processors().iter().find(ends)
    }

    /// Whether the name of a repository contains the name of a framework.
    pub fn repository_names_framework(self, repository: &str) -> bool {
        let mut words = repository.split(['/', '-', '_', '.']);
        words.any(|word| self.frameworks().iter().any(|row| row.distribution == word || row.component == word))
    }

    /// Returns the row with the architectures of an image, as far as its name determines them.
    pub fn architectures_of_image(self, repository: &str, tag: &str) -> Option<&'static ImageArchesRow> {
        let named = |row: &&ImageArchesRow| match row.repository.strip_suffix('*') {
            Some(begin) => repository.starts_with(begin),
            None => repository == row.repository,
        };
        let word = |row: &&ImageArchesRow| row.word.is_none_or(|word| tag.split(['-', '_']).any(|own| own == word));
        let since =
            |row: &&ImageArchesRow| row.from.is_none_or(|from| month_of_tag(tag).is_some_and(|month| from <= month));
        let rows = self.image_arches().iter().filter(named).filter(word).filter(since);
        rows.max_by_key(|row| (row.repository.len(), row.word.is_some()))
    }

    /// Returns the CUDA base images that a version in a tag may mean: its own row, otherwise every patch of the minor
    /// version.
    pub fn cuda_images_for_version(self, version: &str) -> Vec<&'static CudaImageRow> {
        if let Some(row) = self.cuda_image(version) {
            return vec![row];
        }
        let Some(minor) = version.parse::<CudaVersion>().ok().filter(|minor| minor.0.len() == 2) else {
            return Vec::new();
        };
        let of_minor =
            |row: &&CudaImageRow| row.version.parse().is_ok_and(|own: CudaVersion| own.0.starts_with(minor.0));
        self.cuda_images().iter().filter(of_minor).collect()
    }

    /// Returns the row of a program that installs the driver of its node, by its command line.
    pub fn driver_program(self, command: &str) -> Option<&'static DriverProgramRow> {
        self.driver_programs().iter().find(|row| row.program == program_of(command))
    }

    /// Returns the row of a program that only queries GPUs, by its command line.
    pub fn monitoring_program(self, command: &str) -> Option<&'static MonitoringProgramRow> {
        self.monitoring_programs().iter().find(|row| row.program == program_of(command))
    }

    /// Returns the purpose of a build stage that is not shipped, by its name: `tests` of `integration-tests`.
    pub fn stage_purpose(self, name: &str) -> Option<&'static str> {
        let last = name.rsplit(['-', '_', '.']).next()?;
        let row = self.stage_names().iter().find(|row| last.eq_ignore_ascii_case(row.word))?;
        Some(row.purpose)
    }

    /// Returns why a tag of a CUDA repository has never existed; `None` if it exists or the tables do not list all
    /// tags.
    pub fn nonexistent_cuda_tag(self, repository: &str, tag: &str) -> Option<NoSuchTag> {
        self.base_family(repository).filter(|row| row.listed)?;
        let version = tag.split('-').next().unwrap_or(tag);
        let rows = self.cuda_images_for_version(version);
        let newest = rows.last()?;
        let parts = CudaTagParts::parse(tag);
        let nearest = || self.nearest_existing_tag(newest, parts?);
        let wrong = |part: &str| Some(NoSuchTag { part: part.to_owned(), nearest: nearest() });
        // A minor alone is a tag of its own where a recipe had it.
        let tagged = || self.cuda_recipes_for_version(version).next().is_some();
        if newest.version != version && !tagged() {
            return wrong(version);
        }
        let parts = parts.filter(|_| rows.iter().all(|row| !row.os.is_empty() && !row.flavours.is_empty()))?;
        // What there was a recipe for counts, and what there is a tag of.
        let of_os = |row: &&CudaImageRow| {
            let recipe =
                || [row.version, version].into_iter().flat_map(|version| self.cuda_recipes_for_version(version));
            row.os.contains(&parts.os) || recipe().any(|recipe| recipe.architectures_on(parts.os).next().is_some())
        };
        if !rows.iter().any(of_os) {
            return wrong(parts.os);
        }
        if !rows.iter().any(|row| row.flavours.contains(&parts.flavour)) {
            return wrong(parts.flavour);
        }
        let cudnn = parts.cudnn?;
        let lacks =
            |row: &&CudaImageRow| self.cudnn_tag_words(row.version).is_some_and(|words| !words.contains(&cudnn));
        if rows.iter().all(lacks) { wrong(cudnn) } else { None }
    }

    /// Returns the cuDNN words in tags of a CUDA version.
    fn cudnn_tag_words(self, version: &str) -> Option<&'static [&'static str]> {
        self.cudnn_tags().iter().find(|row| row.version == version).map(|row| row.words)
    }

    /// Returns the most similar tag of a version: the same flavour, and the nearest release of the operating system,
    /// otherwise the newest.
    fn nearest_existing_tag(self, row: &'static CudaImageRow, requested: CudaTagParts<'_>) -> Option<String> {
        let flavour = row.flavours.iter().find(|own| **own == requested.flavour).or(row.flavours.last())?;
        let of_name = row.os.iter().filter(|own| os_name(own) == os_name(requested.os));
        let os = of_name.min_by_key(|own| os_number(own).abs_diff(os_number(requested.os))).or(row.os.last())?;
        let cudnn = match requested.cudnn {
            None => None,
            Some(word) => {
                let words = self.cudnn_tag_words(row.version).unwrap_or_default();
                Some(*words.iter().find(|own| **own == word).or(words.last())?)
            }
        };
        Some(CudaTagParts { version: row.version, cudnn, flavour, os }.tag())
    }

    /// Returns the recipes of a version, as named in tags.
    pub fn cuda_recipes_for_version(self, version: &str) -> impl Iterator<Item = &'static CudaRecipeRow> {
        self.cuda_recipes().iter().filter(move |row| row.version == version)
    }
}

/// Returns the program of a command line.
fn program_of(command: &str) -> &str {
    command.split(' ').next().unwrap_or(command)
}

impl<'a> CudaTagParts<'a> {
    /// Parses a tag; `None` if it has another form.
    fn parse(tag: &'a str) -> Option<Self> {
        let words: Vec<&str> = tag.split('-').collect();
        match *words.as_slice() {
            [version, flavour, os] if !flavour.starts_with("cudnn") => Some(Self { version, cudnn: None, flavour, os }),
            [version, cudnn, flavour, os] if cudnn.starts_with("cudnn") => {
                Some(Self { version, cudnn: Some(cudnn), flavour, os })
            }
            _ => None,
        }
    }

    /// Returns the parts as a tag.
    fn tag(self) -> String {
        [Some(self.version), self.cudnn, Some(self.flavour), Some(self.os)]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("-")
    }
}

/// Returns the name of an operating system: `ubuntu` of `ubuntu22.04`.
fn os_name(os: &str) -> &str {
    os.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.')
}

/// Returns the release of an operating system as a number: 2204 of `ubuntu22.04`.
fn os_number(os: &str) -> u32 {
    let digits: String = os.chars().filter(char::is_ascii_digit).take(6).collect();
    digits.parse().unwrap_or(0)
}

impl CudaRecipeRow {
    /// Returns its architectures on an operating system, as named in a tag.
    pub fn architectures_on(&self, os: &str) -> impl Iterator<Item = &'static str> {
        let own = self.arches.iter().find(|(own, _)| *own == os).map_or("", |(_, arches)| *arches);
        own.split(' ').filter(|arch| !arch.is_empty())
    }

    /// Whether it applies to an operating system and an architecture.
    pub fn is_for(&self, os: &str, arch: &str) -> bool {
        self.architectures_on(os).any(|own| own == arch)
    }

    /// Whether it applies on a day.
    fn applies_on(&self, day: Date) -> bool {
        self.first.is_none_or(|first| first <= day) && self.until.is_none_or(|until| day < until)
    }

    /// Whether it has ended by a day; always true without a day.
    fn has_ended_by(&self, day: Option<Date>) -> bool {
        day.is_none_or(|day| self.until.is_some_and(|until| until <= day))
    }
}

/// Returns the recipe of the image that a tag refers to on a day, or now; several if ambiguous, none before the first
/// image.
pub fn recipes_on_day(rows: &[&'static CudaRecipeRow], day: Option<Date>) -> Vec<&'static CudaRecipeRow> {
    let of = |keep: &dyn Fn(&CudaRecipeRow) -> bool| -> Vec<&'static CudaRecipeRow> {
        rows.iter().copied().filter(|row| keep(row)).collect()
    };
    let now = of(&|row| day.map_or(row.until.is_none(), |day| row.applies_on(day)));
    if !now.is_empty() {
        return now;
    }
    let last = rows.iter().filter(|row| row.has_ended_by(day)).filter_map(|row| row.until).max();
    of(&|row| last.is_some() && row.until == last)
}

#[cfg(test)]
mod base_lookup_tests {
    use super::*;

    #[test]
    fn gpu_image_names_are_distinguished_from_similar_names() {
        for (repository, tag, expected) in [
            ("nvcr.io/nvidia/deepstream", "7.0-triton-multiarch", true),
            ("nvcr.io/nvidia/l4t-pytorch", "r35.2.1-pth2.0-py3", true),
            ("nvcr.io/nim/meta/llama3-8b-instruct", "1.0.0", true),
            ("rapidsai/base", "24.04-cuda12.2-py3.11", true),
            ("lmsysorg/sglang", "v0.4.6-cu124", true),
            ("registry.example/team/app", "1.0-gpu", true),
            ("registry.example/team/app", "2024-cuda", true),
            ("ollama/ollama", "0.5.4", true),
            ("nvcr.io/nvidia/distroless/go", "v3.1.9", false),
            ("nvcr.io/nvidia/cloud-native/gpu-operator-validator", "v24.9.0", false),
            ("nvcr.io/nvidia/k8s-device-plugin", "v0.17.0", false),
            ("python", "3.11-slim", false),
            ("registry/app", "cu-2024", false),
            ("registry/app", "accu12", false),
            ("registry/app", "cu", false),
            ("registry/app", "cu1", false),
            ("registry/app", "cu20240511", false),
            ("registry/app", "cudaless", false),
            ("registry/app", "nogpu", false),
            ("registry/gpu-tools", "1.0", true),
            ("registry/gputools", "1.0", false),
            ("registry-gpu/tools", "1.0", false),
            ("nvcr.example/nvidia/app", "1.0", false),
            ("", "", false),
        ] {
            let found = Knowledge::built_in().gpu_image_evidence(repository, tag).is_some();
            assert_eq!(found, expected, "{repository}:{tag}");
        }
    }

    #[test]
    fn only_the_month_of_a_tag_changes_and_only_to_one_that_has_it() {
        let knowledge = Knowledge::built_in();
        let tags = |image: &str, tag: &str| {
            let family = knowledge.base_family(&format!("nvcr.io/nvidia/{image}")).expect("a family");
            knowledge.tags_of_other_months(family, tag)
        };
        for (image, tag, there, not) in [
            ("pytorch", "25.06-py3", "25.05-py3", "25.07-py3"),
            ("tritonserver", "24.05-py3", "25.07-py3", "20.03-py3"),
            ("tensorflow", "23.02-tf1-py3", "23.03-tf1-py3", "23.04-tf1-py3"),
            ("tensorflow", "23.02-tf2-py3", "25.02-tf2-py3", "25.03-tf2-py3"),
            (
                "cuda-dl-base",
                "25.06-cuda12.9-devel-ubuntu24.04",
                "25.03-cuda12.8-devel-ubuntu24.04",
                "25.03-cuda12.9-devel-ubuntu24.04",
            ),
            // A month that is known, of a tag that the month is not known to have.
            (
                "cuda-dl-base",
                "25.04-cuda12.9-devel-ubuntu24.04",
                "25.03-cuda12.8-devel-ubuntu24.04",
                "25.04-cuda12.9-devel-ubuntu24.04",
            ),
        ] {
            let found = tags(image, tag);
            assert!(found.iter().any(|one| one == there), "{image}:{tag}: {found:?}");
            assert!(!found.iter().any(|one| one == not), "{image}:{tag}: {found:?}");
        }
        for (image, tag) in [
            ("pytorch", "25.06-py3-foo"),
            ("pytorch", "25.06"),
            ("pytorch", "25.06-py3-igpu"),
            ("tritonserver", "24.05-py3-bogus"),
            ("tritonserver", "24.05-py3-min"),
            ("tensorflow", "23.02-py3"),
            ("cuda-dl-base", "25.06-cuda12.8-devel-ubuntu24.04"),
            ("cuda-dl-base", "25.06-cuda12.9-devel-ubuntu22.04"),
            ("cuda-dl-base", "25.06-py3"),
            ("jax", "25.06-py3"),
            ("tritonserver", "18.13-py3"),
            ("tritonserver", "latest"),
        ] {
            assert_eq!(tags(image, tag), Vec::<String>::new(), "{image}:{tag}");
        }
    }

    #[test]
    fn single_architecture_images_are_identified_by_name() {
        for (repository, tag, expected) in [
            ("nvcr.io/nvidia/l4t-pytorch", "r35.2.1-pth2.0-py3", true),
            ("nvcr.io/nvidia/l4t-base", "", true),
            ("nvcr.io/nvidia/deepstream-l4t", "6.2-base", true),
            ("dustynv/l4t-pytorch", "r36.2.0", true),
            ("nvcr.io/nvidia/pytorch", "24.06-py3-igpu", true),
            ("nvcr.io/nvidia/tritonserver", "24.05-py3-igpu-min", true),
            ("nvcr.io/nvidia/pytorch", "24.06-py3", false),
            ("nvcr.io/nvidia/pytorch", "24.06-py3-igpus", false),
            ("nvcr.io/nvidia/pytorch-igpu", "24.06-py3", false),
            ("nvcr.io/nvidia/l4t", "r35.2.1", false),
            ("nvcr.example/nvidia/l4t-pytorch", "r35.2.1", false),
            ("l4t-pytorch", "r35.2.1", false),
            ("dustynv/pytorch", "2.6", false),
            ("registry.example/team/app", "1.0-igpu", false),
            ("registry.example/team/app", "1.0-l4t", false),
            ("python", "3.11-slim", false),
            ("nvidia/cuda", "12.2.0-base-ubuntu22.04", false),
            ("", "", false),
        ] {
            let found = Knowledge::built_in().architectures_of_image(repository, tag);
            assert_eq!(found.is_some(), expected, "{repository}:{tag}");
            assert!(found.is_none_or(|row| row.arches == ["arm64"]), "{repository}:{tag}");
        }
        for (repository, tag, expected) in [
            ("nvcr.io/nvidia/pytorch", "25.08-py3", true),
            ("nvcr.io/nvidia/pytorch", "26.04-py3", true),
            ("nvcr.io/nvidia/vllm", "25.12.post1-py3", false),
            ("nvcr.io/nvidia/vllm", "25.09-py3", true),
            ("nvcr.io/nvidia/vllm", "25.08-py3", false),
            ("nvcr.io/nvidia/pytorch", "25.07-py3", false),
            ("nvcr.io/nvidia/pytorch", "25.08-py3-igpu", false),
            ("nvcr.io/nvidia/pytorch", "latest", false),
            ("nvcr.io/nvidia/tensorflow", "25.02-tf2-py3", false),
        ] {
            let found = Knowledge::built_in().architectures_of_image(repository, tag);
            assert_eq!(found.is_some_and(|row| row.arches == ["amd64", "arm64"]), expected, "{repository}:{tag}");
        }
    }

    #[test]
    fn a_month_is_the_prefix_of_a_tag() {
        for (tag, expected) in [
            ("23.10-py3", Some("23.10")),
            ("24.01", Some("24.01")),
            ("23.1-py3", None),
            ("2.1.0-py3", None),
            ("v23.10", None),
            ("latest", None),
            ("", None),
        ] {
            assert_eq!(month_of_tag(tag), expected, "{tag}");
        }
    }

    #[test]
    fn months_serve_every_repository_of_the_family_and_no_other() {
        let knowledge = Knowledge::built_in();
        let cuda = |repository: &str, tag: &str| {
            let family = knowledge.base_family(repository)?;
            knowledge.ngc_release(family, tag).map(|row| row.cuda.to_string())
        };
        for (repository, tag, expected) in [
            ("nvcr.io/nvidia/pytorch", "23.10-py3", Some("12.2.2.009")),
            ("nvcr.io/nvidia/tensorrt", "20.08-py3", Some("11.0.3")),
            ("nvcr.io/nvidia/tensorrtserver", "19.07-py3", Some("10.1.168")),
            ("nvcr.io/nvidia/tritonserver", "24.05-trtllm-python-py3", None),
            ("nvcr.io/nvidia/tritonserver", "24.05-py3-igpu", None),
            ("nvcr.io/nvidia/tensorflow", "18.01-py3", None),
            ("nvcr.io/nvidia/pytorch", "99.01-py3", None),
            ("nvcr.io/nvidia/cuda", "23.10-py3", None),
            ("pytorch/pytorch", "23.10-py3", None),
        ] {
            assert_eq!(cuda(repository, tag).as_deref(), expected, "{repository}:{tag}");
        }
    }

    #[test]
    fn a_floor_begins_with_its_month() {
        let floor = |repository: &str, tag: &str| {
            Knowledge::built_in().code_floor(repository, tag).map(|row| row.capability.to_string())
        };
        for (repository, tag, expected) in [
            ("nvcr.io/nvidia/tensorrtserver", "19.07-py3", None),
            ("nvcr.io/nvidia/tensorrtserver", "19.08-py3", Some("6.0")),
            ("nvcr.io/nvidia/tritonserver", "25.07-py3", Some("6.0")),
            ("nvcr.io/nvidia/tritonserver", "25.08-py3", Some("7.5")),
            ("nvcr.io/nvidia/tritonserver", "latest", None),
            ("nvcr.io/nvidia/tensorflow", "23.10-py3", Some("5.2")),
            ("nvcr.io/nvidia/tensorflow", "18.12-py3", None),
            ("nvcr.io/nvidia/pytorch", "25.01-py3", Some("5.2")),
            ("nvcr.io/nvidia/pytorch", "25.02-py3", Some("7.0")),
            ("nvcr.io/nvidia/pytorch", "25.08-py3", Some("7.5")),
            ("nvcr.io/nvidia/mxnet", "23.10-py3", None),
        ] {
            assert_eq!(floor(repository, tag).as_deref(), expected, "{repository}:{tag}");
        }
    }

    #[test]
    fn two_numbers_mean_every_patch() {
        let versions = |version: &str| {
            Knowledge::built_in().cuda_images_for_version(version).iter().map(|row| row.version).collect::<Vec<_>>()
        };
        assert_eq!(versions("11.1"), ["11.1.1"]);
        assert_eq!(versions("10.2"), ["10.2"]);
        assert_eq!(versions("12.4.1"), ["12.4.1"]);
        assert!(versions("11.4").len() > 1);
        for none in ["11", "11.9", "12.4.9", "devel", "", "1.1"] {
            assert_eq!(versions(none), [""; 0], "{none}");
        }
    }
}

#[cfg(test)]
mod stage_names_tests {
    use super::*;

    #[test]
    fn driver_install_is_detected_in_a_command() {
        let installs = |command: &str| Knowledge::built_in().driver_program(command).is_some();
        assert!(installs("nvidia-driver init") && installs("nvidia-driver"));
        for command in ["nvidia-driver-570", "nvidia-smi", "python nvidia-driver", "", "nvidia-device-plugin"] {
            assert!(!installs(command), "{command}");
        }
    }

    #[test]
    fn last_word_of_a_stage_name_states_its_purpose() {
        for (name, expected) in [
            ("test", Some("tests")),
            ("Test", Some("tests")),
            ("integration-tests", Some("tests")),
            ("test-coverage", Some("tests")),
            ("kernel_builder", Some("builds")),
            ("test-runtime", None),
            ("tested", None),
            ("latest", None),
            ("contest", None),
            ("build-and-serve", None),
            ("runtime", None),
            ("-", None),
            ("", None),
        ] {
            assert_eq!(Knowledge::built_in().stage_purpose(name), expected, "{name}");
        }
    }
}

#[cfg(test)]
mod cuda_tags_tests {
    use super::*;

    #[test]
    fn a_nonexistent_tag_is_reported_with_the_nearest_existing_one() {
        for (tag, part, nearest) in [
            ("11.6.2-base-debian11", "debian11", Some("11.6.2-base-ubuntu20.04")),
            ("12.4.1-base-ubuntu24.04", "ubuntu24.04", Some("12.4.1-base-ubuntu22.04")),
            ("10.2-base-ubuntu20.04", "ubuntu20.04", Some("10.2-base-ubuntu18.04")),
            ("11.8.0-cudnn9-runtime-ubuntu22.04", "cudnn9", Some("11.8.0-cudnn8-runtime-ubuntu22.04")),
            ("12.4-base-ubuntu22.04", "12.4", Some("12.4.1-base-ubuntu22.04")),
            ("12.4-base", "12.4", None),
            ("11.8.0-slim-ubuntu22.04", "slim", Some("11.8.0-runtime-ubuntu22.04")),
        ] {
            let found = Knowledge::built_in().nonexistent_cuda_tag("nvidia/cuda", tag).expect(tag);
            assert_eq!((found.part.as_str(), found.nearest.as_deref()), (part, nearest), "{tag}");
        }
    }

    #[test]
    fn published_tags_and_tags_of_other_forms_are_accepted() {
        for tag in [
            "12.4.1-base-ubuntu22.04",
            "11.8.0-cudnn8-devel-ubuntu22.04",
            "12.6.3-cudnn-runtime-ubuntu24.04",
            "11.0-devel-ubuntu20.04",
            "11.0.3-cudnn8-devel-ubuntu18.04",
            "10.0-base-ubuntu16.04",
            "10.2-base-ubuntu18.04",
            "10.1-cudnn7-runtime-ubuntu18.04",
            "9.0-base",
            "11.1-base",
            "12.4.1",
            "latest",
            "99.1.0-base-ubuntu22.04",
            "12.4.1-base-ubuntu22.04-mine",
            "",
            "---",
        ] {
            assert_eq!(Knowledge::built_in().nonexistent_cuda_tag("nvidia/cuda", tag), None, "{tag}");
        }
        for repository in ["nvidia/cuda-arm64", "nvidia/cudagl", "registry.example/nvidia/cuda", "python"] {
            assert_eq!(
                Knowledge::built_in().nonexistent_cuda_tag(repository, "12.4.1-base-debian11"),
                None,
                "{repository}"
            );
        }
    }
}

#[cfg(test)]
mod recipe_lookup_tests {
    use super::*;

    fn requirements(version: &str, os: &str, arch: &str, day: Option<&str>) -> Vec<&'static str> {
        let rows: Vec<_> =
            Knowledge::built_in().cuda_recipes_for_version(version).filter(|row| row.is_for(os, arch)).collect();
        let found = recipes_on_day(&rows, day.map(|day| day.parse().expect(day)));
        found.iter().map(|row| row.require.unwrap_or("absent")).collect()
    }

    #[test]
    fn a_tag_has_the_last_requirement_of_its_recipe_on_each_system() {
        for (version, os, arch, expected) in [
            ("11.8.0", "ubuntu18.04", "amd64", &["r11_8_d"][..]),
            ("11.8.0", "ubuntu22.04", "amd64", &["r11_8_f"]),
            ("11.8.0", "ubuntu22.04", "arm64", &["r11_8_b"]),
            ("11.4.3", "ubuntu20.04", "amd64", &["r11_4_b"]),
            ("11.4.3", "ubuntu18.04", "amd64", &["r11_4_d"]),
            ("11.4.3", "centos8", "amd64", &["r11_4_c"]),
            ("11.6.1", "ubuntu20.04", "arm64", &["absent"]),
            ("11.6.1", "ubi8", "ppc64le", &["absent"]),
            // The recipe changed and was retired within three hours.
            ("11.7.0", "ubuntu20.04", "amd64", &["r11_7_d", "r11_7_e"]),
            ("11.7.0", "ubuntu18.04", "amd64", &["r11_7_d"]),
            ("13.3.0", "ubuntu24.04", "arm64", &["r13_3_a"]),
            ("13.3.1", "ubuntu24.04", "amd64", &["r13_3_b"]),
            ("11.8.0", "centos7", "arm64", &[]),
            ("11.8.0", "debian11", "amd64", &[]),
            ("11.8.0", "ubuntu22.04", "riscv64", &[]),
            ("11.8.0", "", "", &[]),
            ("10.2", "ubuntu18.04", "arm64", &[]),
            ("13.4.1", "ubuntu24.04", "amd64", &[]),
        ] {
            assert_eq!(requirements(version, os, arch, None), expected, "{version} {os} {arch}");
        }
    }

    #[test]
    fn a_day_selects_the_recipe_of_that_day_and_retired_images_remain() {
        for (version, os, arch, day, expected) in [
            ("11.2.2", "ubuntu20.04", "amd64", "2021-03-14", &[][..]),
            ("11.2.2", "ubuntu20.04", "amd64", "2021-03-15", &["r11_2_b"]),
            ("11.2.2", "ubuntu20.04", "amd64", "2021-04-18", &["r11_2_b"]),
            ("11.2.2", "ubuntu20.04", "amd64", "2021-06-29", &["r11_2_c"]),
            // For three weeks, only the recipes of Ubuntu required CUDA 11.4.
            ("11.2.2", "ubuntu20.04", "amd64", "2021-07-20", &["r11_4_a"]),
            ("11.2.2", "ubi8", "amd64", "2021-07-20", &["r11_2_c"]),
            ("11.2.2", "ubuntu20.04", "amd64", "2021-08-05", &["r11_2_c"]),
            ("11.2.2", "ubuntu18.04", "amd64", "2026-01-01", &["r11_2_e"]),
            ("11.2.2", "centos8", "amd64", "2026-01-01", &["r11_2_c"]),
            ("11.2.2", "rockylinux8", "amd64", "2021-06-29", &[]),
            ("9.0", "ubuntu16.04", "amd64", "2018-03-01", &["r9_0_a"]),
            ("10.0", "ubuntu18.04", "amd64", "2018-10-01", &["r10_0_d"]),
            // The recipes of other systems were elsewhere then.
            ("10.0", "ubuntu16.04", "amd64", "2018-10-01", &[]),
            ("13.2.0", "ubuntu24.04", "amd64", "2025-08-17", &[]),
        ] {
            assert_eq!(requirements(version, os, arch, Some(day)), expected, "{version} {os} {arch} {day}");
        }
        assert!(recipes_on_day(&[], None).is_empty() && recipes_on_day(&[], Some(Date::MAX)).is_empty());
    }
}
