//! Which release and build of torch a package means: as it is written down, or the newest that will do.

use std::cmp::Ordering;

use jiff::civil::Date;

use crate::fact::Offered;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::Why;
use crate::infer::candidates::ends;
use crate::infer::candidates::parts;
use crate::infer::candidates::within;
use crate::infer::framework::variant_cuda;
use crate::infer::torch::Brought;
use crate::infer::torch::Maker;
use crate::infer::torch::wanted;
use crate::install::admits;
use crate::install::order;
use crate::install::public;
use crate::knowledge::Knowledge;
use crate::knowledge::TorchRow;

/// What decides beside the packages.
#[derive(Clone, Copy)]
pub(super) struct Day<'a> {
    pub(super) arch: &'a str,
    pub(super) as_of: Option<Date>,
    pub(super) knowledge: Knowledge,
}

/// A version that is written down, with the build that the index gives.
pub(super) fn as_said<'a>(package: &'a PackageSeen, day: Day<'_>) -> Brought<'a> {
    let text = match &package.version {
        PackageVersion::Exact(text) => text,
        PackageVersion::Unresolved(why) => return Brought::unknown(package, why.clone()),
        PackageVersion::Open(range) => {
            let asked = if range.is_empty() { "no version" } else { range };
            let why = Why {
                reason: format!("{} is installed with {asked}: the build date decides its version", package.name),
                supply: format!("pin it, such as {}==<version>", package.name),
            };
            return any_of(package, range, why, day);
        }
    };
    if let Some(why) = &package.conditional {
        return Brought::unknown(package, why.clone());
    }
    let row = release(public(text), day.knowledge);
    let version = row.map_or_else(|| public(text).to_owned(), |row| row.version.to_owned());
    let local = text.split_once('+').map(|(_, local)| local.to_owned());
    // Builds from source have a hash there; what they were built with stands elsewhere.
    let hash = local.as_ref().filter(|local| !names_build(local));
    let variant = match (local.clone(), &package.offered, &package.variant) {
        (Some(_), _, Some(variant)) if hash.is_some() => Ok(Some(variant.clone())),
        (Some(local), _, None) if hash.is_some() => Err(Why {
            reason: format!(
                "{} {text} is a custom build, and `{local}` does not include the CUDA version",
                package.name
            ),
            supply: "declare its build, such as cu124, in an image description".to_owned(),
        }),
        // `cu117.with.pypi.cudnn` is a build for CUDA 11.7.
        (Some(local), _, Some(variant)) if local.split('.').next() == Some(variant) => Ok(Some(variant.clone())),
        (Some(local), _, _) => Ok(Some(local)),
        (None, Offered::Beside(tags), _) => {
            Ok(row.map_or_else(|| package.variant.clone(), |row| highest(row, tags, day)))
        }
        (None, Offered::Unknown(why), _) => Err(why.clone()),
        (None, offered, variant) => {
            let without = day.knowledge.without_cuda_on(&package.name, &version, day.arch).is_some();
            let only = matches!(offered, Offered::Only(tag) if row.is_some_and(|row| !has(row, tag, day)));
            if only && !without && day.arch != "amd64" {
                Err(unlisted(package, &version, day.arch))
            } else if matches!(offered, Offered::Default)
                && row.is_some_and(|row| is_without(row, variant.as_deref(), day))
            {
                Ok(None)
            } else {
                // An index of CUDA has there the default build; one without CUDA was chosen all the same.
                Ok(variant.clone().filter(|tag| !without || variant_cuda(tag).is_none()))
            }
        }
    };
    Brought {
        package,
        version: Ok(version),
        variant,
        newest: false,
        row: row.map(|row| &row.info),
        told: None,
        candidates: Vec::new(),
        closed: false,
        maker: Maker::of(package),
    }
}

/// Why nothing can be told of a build on an index of its own.
fn unlisted(package: &PackageSeen, version: &str, arch: &str) -> Why {
    Why {
        reason: format!("it is unknown whether that index contains {} {version} for {arch}", package.name),
        supply: "run `imagelint scan` on the built image".to_owned(),
    }
}

/// A range that somebody wrote of an image that is there: any release of it.
fn any_of<'a>(package: &'a PackageSeen, range: &str, why: Why, day: Day<'_>) -> Brought<'a> {
    let (range, tag) = parts(range);
    let brought = Brought::unknown(package, why);
    if package.conditional.is_some() || matches!(package.offered, Offered::Unknown(_) | Offered::Beside(_)) {
        return brought;
    }
    let variant = Ok(tag.or_else(|| package.variant.clone()));
    let closed = ends(&range, day.as_of, day.knowledge);
    Brought { variant, candidates: within(&range, day.as_of, day.knowledge), closed, ..brought }
}

/// Whether a local part names a build: `cu124`, `cpu`, `rocm6.2`.
pub(super) fn names_build(local: &str) -> bool {
    let word = local.split(['.', '_', '-']).next().unwrap_or(local);
    let cuda = word.strip_prefix("cu").is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    cuda || word.starts_with("rocm") || matches!(word, "cpu" | "xpu" | "cxx11")
}

fn release(version: &str, knowledge: Knowledge) -> Option<&'static TorchRow> {
    let mut rows = knowledge.torch_releases().iter();
    rows.find(|row| order(row.version, version) == Some(Ordering::Equal))
}

/// Whether a build is the one without CUDA that a plain install brings on the platform.
fn is_without(row: &TorchRow, tag: Option<&str>, day: Day<'_>) -> bool {
    let mut default = row.default_variant.iter().filter(|value| value.arch == day.arch);
    default.any(|value| variant_cuda(value.value).is_none() && tag == Some(value.value))
}

/// Whether a release has a build.
fn has(row: &TorchRow, tag: &str, day: Day<'_>) -> bool {
    let cuda = tag.starts_with("cu");
    if !cuda {
        return true;
    }
    if day.arch == "amd64" {
        return row.variants.contains(&tag);
    }
    day.knowledge.torch_build(row.version, tag, day.arch).is_some()
}

/// The build that an installer takes of those that several indexes have of one release: among equal versions the local
/// part decides, which is compared as text, so that `cu92` comes before `cu126`.
fn highest(row: &TorchRow, tags: &[String], day: Day<'_>) -> Option<String> {
    // A build that no version names is a wheel for one platform like that of the default index, which is taken before it.
    let named = |tag: &&String| !day.knowledge.is_unnamed(row.version, tag, day.arch);
    tags.iter().filter(|tag| has(row, tag, day)).filter(named).max().cloned()
}

/// The newest release that will do.
pub(super) fn newest<'a>(
    package: &'a PackageSeen,
    ranges: &[String],
    python: &Result<String, Why>,
    day: Day<'_>,
) -> Brought<'a> {
    let name = wanted(package, day.knowledge);
    let unknown = |reason: String| {
        let supply = format!("pin it, such as {name}==<version>+<build>");
        Brought::unknown(package, Why { reason, supply })
    };
    if let Offered::Unknown(why) = &package.offered {
        return Brought::unknown(package, why.clone());
    }
    if let (Some(why), Offered::Only(_)) = (&package.early, &package.offered) {
        return Brought::unknown(package, why.clone());
    }
    if ranges.iter().any(|range| admits(range, "1").is_none()) {
        return unknown(format!("`{}` is not a version range", ranges.join(",")));
    }
    let fitting = |row: &&TorchRow| fits(ranges, row.version) == Some(true);
    if day.as_of.is_some() && day.knowledge.torch_served().filter(fitting).any(|row| row.released.is_none()) {
        return unknown(format!(
            "the release dates of the allowed {name} versions are not in the compatibility \
            database"
        ));
    }
    let of_python = |python: &str| {
        let rows = day.knowledge.torch_served().filter(fitting).filter(|row| runs_on(row, python, day.knowledge));
        rows.filter(|row| is_out(row, day) && offered(row, package, day))
            .max_by(|a, b| order(a.version, b.version).unwrap_or(Ordering::Equal))
    };
    let chosen: Vec<&'static TorchRow> = if let Ok(python) = python {
        of_python(python).into_iter().collect()
    } else {
        let mut all: Vec<&'static TorchRow> =
            day.knowledge.torch_pythons().iter().filter_map(|row| of_python(row.python)).collect();
        all.dedup_by_key(|row| row.version);
        all
    };
    let row = match (chosen.as_slice(), python) {
        ([row], _) => *row,
        ([], _) => {
            let date = day.knowledge.newest_date();
            let none = unknown(format!("no release of {name} in the compatibility database of {date} matches"));
            // An index of CUDA may hold builds without it for another platform.
            let elsewhere = none.version.clone().err().filter(|_| day.arch != "amd64");
            return Brought { variant: elsewhere.map_or_else(|| none.variant.clone(), Err), ..none };
        }
        (rows, Err(why)) => {
            let variant = match &package.offered {
                Offered::Only(tag) => Ok(Some(tag.clone())),
                Offered::Default => Ok(None),
                Offered::Beside(_) | Offered::Unknown(_) => Err(why.clone()),
            };
            return Brought {
                variant,
                candidates: rows.to_vec(),
                closed: true,
                ..Brought::unknown(package, why.clone())
            };
        }
        (_, Ok(_)) => return unknown("several releases match".to_owned()),
    };
    let variant = match &package.offered {
        Offered::Only(tag) => Some(tag.clone()),
        Offered::Beside(tags) => highest(row, tags, day),
        Offered::Default | Offered::Unknown(_) => None,
    };
    let newest = day.knowledge.torch_served().filter(fitting).count() > 1;
    Brought {
        package,
        version: Ok(row.version.to_owned()),
        variant: Ok(variant),
        newest,
        row: Some(&row.info),
        told: None,
        candidates: Vec::new(),
        closed: false,
        maker: Maker::of(package),
    }
}

/// Whether a release has a wheel for a Python.
pub(super) fn runs_on(row: &TorchRow, python: &str, knowledge: Knowledge) -> bool {
    let range = knowledge.torch_pythons().iter().find(|range| range.python == python);
    range.is_some_and(|range| {
        order(row.version, range.first).is_some_and(Ordering::is_ge)
            && range.last.is_none_or(|last| order(row.version, last).is_some_and(Ordering::is_le))
    })
}

/// Whether a release is out on the day that counts.
pub(super) fn is_out(row: &TorchRow, day: Day<'_>) -> bool {
    match (day.as_of, row.released) {
        (Some(day), Some(released)) => released <= day,
        _ => true,
    }
}

/// Whether the indexes that a command names have a release for the platform.
pub(super) fn offered(row: &TorchRow, package: &PackageSeen, day: Day<'_>) -> bool {
    let default = row.default_variant.iter().any(|value| value.arch == day.arch);
    match &package.offered {
        Offered::Only(tag) => has(row, tag, day),
        Offered::Beside(tags) => default || tags.iter().any(|tag| has(row, tag, day)),
        Offered::Default | Offered::Unknown(_) => default,
    }
}

/// Whether a version lies in every range; none where a range cannot be read.
pub(super) fn fits(ranges: &[String], version: &str) -> Option<bool> {
    let mut all = true;
    for range in ranges {
        all &= admits(range, version)?;
    }
    Some(all)
}
