//! `nvidia-smi --query-gpu=... --format=csv`, with its header or without.

use std::collections::BTreeMap;

use crate::cuda::ComputeCapability;
use crate::cuda::DriverVersion;
use crate::inventory::Build;
use crate::inventory::Gpu;
use crate::inventory::Inventory;
use crate::inventory::InventoryError;
use crate::inventory::Machine;
use crate::inventory::Parts;
use crate::knowledge::Knowledge;

/// GPUs of one kind, with how many there are.
type Counted = BTreeMap<(String, Option<ComputeCapability>, Parts), u32>;

/// What a column may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Column {
    Name,
    Driver,
    Capability,
    Mig,
}

impl Column {
    /// The column of a header; units stand in brackets behind some.
    fn of_header(text: &str) -> Option<Self> {
        Some(match text.split(" [").next().unwrap_or(text) {
            "name" | "gpu_name" => Self::Name,
            "driver_version" => Self::Driver,
            "compute_cap" => Self::Capability,
            "mig.mode.current" | "mig.mode.current_mig" => Self::Mig,
            _ => return None,
        })
    }

    /// The column that a value without a header must be of.
    fn of_value(text: &str) -> Option<Self> {
        let has = |test: fn(&u8) -> bool| text.as_bytes().iter().any(test);
        let dots = text.matches('.').count();
        if text.parse::<ComputeCapability>().is_ok() && text.len() <= 4 {
            return Some(Self::Capability);
        }
        if (1..=2).contains(&dots) && text.split('.').next().is_some_and(|branch| branch.len() == 3) {
            return text.parse::<DriverVersion>().ok().map(|_| Self::Driver);
        }
        // Names begin with a letter and hold more than one word or a digit; identifiers begin with a word of their own.
        let id = ["GPU-", "MIG-", "0000"].iter().any(|start| text.starts_with(start));
        let unit = ["MiB", "W", "%", "MHz", "C"].iter().any(|unit| text.ends_with(&format!(" {unit}")));
        let letters = text.as_bytes().first().is_some_and(u8::is_ascii_alphabetic);
        (letters && !id && !unit && text.contains(' ') && has(u8::is_ascii_alphanumeric)).then_some(Self::Name)
    }
}

/// Whether a value says that there is none.
fn is_missing(text: &str) -> bool {
    text.is_empty() || text.starts_with('[') || matches!(text, "N/A" | "Not Supported" | "Unknown Error")
}

/// Reads the table of one machine.
pub(super) fn read(name: &str, text: &str, knowledge: Knowledge) -> Result<Inventory, InventoryError> {
    let rows = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let mut rows = rows.map(|(at, line)| (at + 1, line.split(',').map(str::trim).collect::<Vec<_>>())).peekable();
    let Some((_, first)) = rows.peek() else { return Err(InventoryError::Unknown) };
    let header: Vec<Option<Column>> = first.iter().map(|cell| Column::of_header(cell)).collect();
    let has_header = header.iter().any(Option::is_some);
    let columns: Vec<Option<Column>> = if has_header {
        rows.next();
        header
    } else {
        first.iter().map(|cell| Column::of_value(cell)).collect()
    };
    for column in [Column::Name, Column::Driver, Column::Capability] {
        if columns.iter().filter(|own| **own == Some(column)).count() > 1 {
            let what = "two columns have the same content type: include the header (--format=csv)";
            return Err(InventoryError::Unreadable(what.to_owned()));
        }
    }
    if !columns.contains(&Some(Column::Name)) {
        return Err(if has_header {
            InventoryError::Unreadable("line 1: no column `name`: query name,driver_version,compute_cap".to_owned())
        } else {
            InventoryError::Unknown
        });
    }
    // Two words make no GPU: where nothing else on the line is of one, its name is one that is known.
    let is_of_gpu = has_header || columns.iter().any(|own| matches!(own, Some(Column::Driver | Column::Capability)));
    let mut drivers: BTreeMap<Option<DriverVersion>, Counted> = BTreeMap::new();
    for (line, cells) in rows {
        let bad = |message: String| Err(InventoryError::Unreadable(format!("line {line}: {message}")));
        if cells.len() != columns.len() {
            return bad(format!("got {} values, expected {}", cells.len(), columns.len()));
        }
        let cell = |column| {
            let at = columns.iter().position(|own| *own == Some(column))?;
            cells.get(at).copied().filter(|text| !is_missing(text))
        };
        let driver = match cell(Column::Driver).map(str::parse::<DriverVersion>).transpose() {
            Ok(driver) => driver,
            Err(error) => return bad(error.to_string()),
        };
        let capability = match cell(Column::Capability).map(str::parse::<ComputeCapability>).transpose() {
            Ok(capability) => capability,
            Err(error) => return bad(error.to_string()),
        };
        let Some(gpu) = cell(Column::Name) else { return bad("a GPU without a name".to_owned()) };
        if !is_of_gpu && knowledge.gpu(gpu).is_none() {
            return Err(InventoryError::Unknown);
        }
        let parts = match cell(Column::Mig) {
            Some("Enabled") => Parts::known(true),
            Some(_) => Parts::Whole,
            None => Parts::Untold,
        };
        *drivers.entry(driver).or_default().entry((gpu.to_owned(), capability, parts)).or_default() += 1;
    }
    if drivers.is_empty() {
        return Err(InventoryError::Unreadable("it lists no GPU".to_owned()));
    }
    // A machine has one driver: a table with several is of several machines, and nobody knows of how many.
    let single = drivers.len() == 1;
    let machines = drivers.into_iter().map(|(driver, gpus)| {
        let count = |count| single.then_some(count);
        let gpus = gpus.into_iter().map(|((name, capability, parts), number)| Gpu {
            name,
            count: count(number),
            parts,
            capability,
        });
        let build = Build { gpus: gpus.collect(), driver, ..Build::default() };
        Machine { name: name.to_owned(), nodes: count(1), build, ..Machine::default() }
    });
    Ok(Inventory { machines: machines.collect(), ..Inventory::default() })
}
