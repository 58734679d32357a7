//! The values that follow from the declaration of a pool, with their sources, and the effect of each open field.

use std::collections::BTreeSet;

use crate::fleet::{Host, Pool, PoolField, mig_division_text};
use crate::knowledge::{Knowledge, RowInfo, row_heading};

/// The maximum number of values of one kind that are listed.
const MAX_LISTED_VALUES: usize = 6;

/// A value that follows from the declaration of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DerivedValue {
    /// What it is.
    pub name: &'static str,
    /// The value; several with commas between them.
    pub text: String,
    /// Its origin: a row with its source, or nothing if the pool declares it.
    pub from: Option<String>,
}

/// A pool field without a single declared value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenField {
    /// Its key in the fleet file.
    pub field: &'static str,
    /// What is tried instead, and what that means for verdicts.
    pub cost: String,
}

/// A pool with all values that follow from its declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DerivedPool {
    /// Its name.
    pub name: String,
    /// How many nodes it has, where declared.
    pub nodes: Option<u32>,
    /// How many hosts it may be.
    pub hosts: usize,
    /// The values.
    pub values: Vec<DerivedValue>,
    /// The gaps.
    pub open: Vec<OpenField>,
}

/// Derives all values of a pool from its declaration and the compatibility database.
pub fn derive_pool(pool: &Pool, knowledge: Knowledge) -> DerivedPool {
    let hosts = pool.hosts(knowledge, None);
    DerivedPool {
        name: pool.name.value.clone(),
        nodes: pool.nodes.as_ref().map(|nodes| nodes.value),
        hosts: hosts.len(),
        values: derived_values(pool, &hosts),
        open: open_fields(pool, &hosts),
    }
}

/// Returns the heading, source and date of a database row.
fn row_citation(info: &RowInfo) -> String {
    format!("{} [{}, {}]", row_heading(info), info.source, info.checked)
}

/// Returns the derived values of a pool.
fn derived_values(pool: &Pool, hosts: &[Host]) -> Vec<DerivedValue> {
    let gpu = |host: &Host| host.gpu.clone();
    let of_gpu = |host: &Host| gpu(host).and_then(|gpu| gpu.row).map(row_citation);
    let own = |field: PoolField, gap: Option<String>| if pool.field_span(field).is_some() { None } else { gap };
    let mut values = Vec::new();
    let mut add = |name, each: &dyn Fn(&Host) -> Option<String>, from: &dyn Fn(&Host) -> Option<String>| {
        let texts = unique_texts(hosts.iter().filter_map(each));
        if texts.is_empty() {
            return;
        }
        // Possible GPUs have many rows; the GPUs that a pool names have few.
        let rows = unique_texts(hosts.iter().filter_map(from));
        let from = match rows.len() {
            0 => None,
            1..=3 => Some(rows.join("; ")),
            many => Some(format!("{many} entries")),
        };
        values.push(DerivedValue { name, text: join_limited(&texts), from });
    };
    let named = |host: &Host| {
        gpu(host).map(|gpu| {
            gpu.count.map_or(gpu.name.clone(), |n| format!("{n} x {}", gpu.name))
                + &mig_division_suffix(pool, &gpu.name)
        })
    };
    add("gpu", &named, &|host| gpu(host).filter(|gpu| gpu.named).and_then(|gpu| gpu.row).map(row_citation));
    let overridden = pool.compute_capability.is_some();
    add("compute capability", &|host| gpu(host)?.capability.map(|capability| capability.to_string()), &|host| {
        of_gpu(host).filter(|_| !overridden)
    });
    add("class", &|host| gpu(host)?.class.map(|class| class.name().to_owned()), &of_gpu);
    add("brand", &|host| gpu(host)?.brand, &|host| of_gpu(host).filter(|_| pool.brand.is_none()));
    add("driver", &|host| host.driver.map(|driver| driver.to_string()), &|_| None);
    add("driver branch", &|host| host.driver_branch.map(|branch| branch.to_string()), &|_| None);
    add("newest CUDA", &|host| host.driver_cuda.map(|cuda| cuda.to_string()), &|host| {
        host.driver_row.map(row_citation)
    });
    add("platform", &|host| Some(host.platform.clone()), &|_| {
        own(PoolField::Platform, Some("from its GPU".to_owned()))
    });
    add("launch", &|host| Some(host.launch.to_string()), &|_| None);
    add("mode", &|host| Some(host.mode.to_string()), &|_| {
        own(PoolField::Mode, Some("from the launch method, engine and container toolkit".to_owned()))
    });
    add("toolkit", &|host| host.toolkit_version.map(|version| version.to_string()), &|host| {
        host.toolkit.map(|row| row_citation(&row.info))
    });
    values
}

/// Removes duplicate texts and preserves their order.
fn unique_texts(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    texts.filter(|text| seen.insert(text.clone())).collect()
}

/// Joins the first few texts with commas.
fn join_limited(texts: &[String]) -> String {
    let few = texts.get(..MAX_LISTED_VALUES).unwrap_or(texts);
    let more = if texts.len() > few.len() { format!(" and {} more", texts.len() - few.len()) } else { String::new() };
    format!("{}{more}", few.join(", "))
}

/// Returns the open fields of a pool.
fn open_fields(pool: &Pool, hosts: &[Host]) -> Vec<OpenField> {
    let mut assumed: BTreeSet<PoolField> = hosts.iter().flat_map(|host| host.assumed.iter().copied()).collect();
    if hosts.iter().any(|host| host.gpu.is_none()) {
        assumed.insert(PoolField::Gpu);
    }
    assumed
        .into_iter()
        .map(|field| OpenField {
            field: field.name().trim_start_matches("pool."),
            cost: open_field_effect(pool, field, hosts),
        })
        .collect()
}

/// Returns the effect of an open field on verdicts.
fn open_field_effect(pool: &Pool, field: PoolField, hosts: &[Host]) -> String {
    let tried = unique_texts(hosts.iter().filter_map(|host| match field {
        PoolField::Gpu => host.gpu.as_ref().map(|gpu| gpu.name.clone()),
        PoolField::Driver => host.driver.map(|driver| driver.to_string()),
        PoolField::Launch => Some(host.launch.to_string()),
        PoolField::Toolkit => host.toolkit_version.map(|version| version.to_string()),
        _ => Some(host.mode.to_string()),
    }));
    let how = pool.field_text(field).map_or_else(String::new, |text| format!("`{text}` is not a single value; "));
    if tried.is_empty() {
        return format!("{how}no value is known, so all results that depend on it are unknown; declare a known value");
    }
    let what = match field {
        PoolField::Gpu | PoolField::Driver | PoolField::Launch | PoolField::Toolkit => "values checked",
        _ => "modes checked",
    };
    format!("{how}{what}: {}; if the results differ, the image may fail", join_limited(&tried))
}

/// Returns the MIG division of a GPU in parentheses; empty where the pool declares none.
fn mig_division_suffix(pool: &Pool, name: &str) -> String {
    let specs = || pool.gpu.iter().map(|spec| &spec.value).filter(|spec| spec.name == name);
    if specs().all(|spec| spec.mig.is_none()) {
        return String::new();
    }
    let divisions: Vec<String> = specs().map(|spec| mig_division_text(spec.mig.as_deref())).collect();
    format!(" ({})", divisions.join(" or "))
}
