//! Reads the output of `nvidia-smi --query-gpu=... --format=csv`, with or without its header.

use std::collections::BTreeMap;

use crate::cuda::{ComputeCapability, DriverVersion};
use crate::fleet::inventory::{
    GpuPartitioning, Inventory, InventoryError, InventoryMachine, MachineConfig, MachineGpu,
};
use crate::knowledge::Knowledge;

/// The number of GPUs by name, compute capability and partitioning.
type GpuCounts = BTreeMap<(String, Option<ComputeCapability>, GpuPartitioning), u32>;

/// The content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CsvColumn {
    Name,
    Driver,
    Capability,
    Mig,
}

impl CsvColumn {
    /// Returns the column for a header cell, which may end with a unit in brackets.
    fn from_header(text: &str) -> Option<Self> {
        Some(match text.split(" [").next().unwrap_or(text) {
            "name" | "gpu_name" => Self::Name,
            "driver_version" => Self::Driver,
            "compute_cap" => Self::Capability,
            "mig.mode.current" | "mig.mode.current_mig" => Self::Mig,
            _ => return None,
        })
    }

    /// Returns the column to which a value without a header must belong.
    fn from_value(text: &str) -> Option<Self> {
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

/// Whether a cell stands for a missing value.
fn is_missing(text: &str) -> bool {
    text.is_empty() || text.starts_with('[') || matches!(text, "N/A" | "Not Supported" | "Unknown Error")
}

/// Reads the table of one machine.
pub(super) fn read_csv(name: &str, text: &str, knowledge: Knowledge) -> Result<Inventory, InventoryError> {
    let rows = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let mut rows = rows.map(|(at, line)| (at + 1, line.split(',').map(str::trim).collect::<Vec<_>>())).peekable();
    let Some((_, first)) = rows.peek() else { return Err(InventoryError::Unknown) };
    let header: Vec<Option<CsvColumn>> = first.iter().map(|cell| CsvColumn::from_header(cell)).collect();
    let has_header = header.iter().any(Option::is_some);
    let columns: Vec<Option<CsvColumn>> = if has_header {
        rows.next();
        header
    } else {
        first.iter().map(|cell| CsvColumn::from_value(cell)).collect()
    };
    for column in [CsvColumn::Name, CsvColumn::Driver, CsvColumn::Capability] {
        if columns.iter().filter(|own| **own == Some(column)).count() > 1 {
            let what = "two columns have the same content type: include the header (--format=csv)";
            return Err(InventoryError::Unreadable(what.to_owned()));
        }
    }
    if !columns.contains(&Some(CsvColumn::Name)) {
        return Err(if has_header {
            InventoryError::Unreadable("line 1: no column `name`: query name,driver_version,compute_cap".to_owned())
        } else {
            InventoryError::Unknown
        });
    }
    // Two words make no GPU: where nothing else on the line is of one, its name is one that is known.
    let is_of_gpu =
        has_header || columns.iter().any(|own| matches!(own, Some(CsvColumn::Driver | CsvColumn::Capability)));
    let mut drivers: BTreeMap<Option<DriverVersion>, GpuCounts> = BTreeMap::new();
    for (line, cells) in rows {
        let bad = |message: String| Err(InventoryError::Unreadable(format!("line {line}: {message}")));
        if cells.len() != columns.len() {
            return bad(format!("got {} values, expected {}", cells.len(), columns.len()));
        }
        let cell = |column| {
            let at = columns.iter().position(|own| *own == Some(column))?;
            cells.get(at).copied().filter(|text| !is_missing(text))
        };
        let driver = match cell(CsvColumn::Driver).map(str::parse::<DriverVersion>).transpose() {
            Ok(driver) => driver,
            Err(error) => return bad(error.to_string()),
        };
        let capability = match cell(CsvColumn::Capability).map(str::parse::<ComputeCapability>).transpose() {
            Ok(capability) => capability,
            Err(error) => return bad(error.to_string()),
        };
        let Some(gpu) = cell(CsvColumn::Name) else { return bad("a GPU without a name".to_owned()) };
        if !is_of_gpu && knowledge.gpu(gpu).is_none() {
            return Err(InventoryError::Unknown);
        }
        let parts = match cell(CsvColumn::Mig) {
            Some("Enabled") => GpuPartitioning::from_mig_mode(true),
            Some(_) => GpuPartitioning::Whole,
            None => GpuPartitioning::Unknown,
        };
        *drivers.entry(driver).or_default().entry((gpu.to_owned(), capability, parts)).or_default() += 1;
    }
    if drivers.is_empty() {
        return Err(InventoryError::Unreadable("it lists no GPU".to_owned()));
    }
    // A machine has one driver: a table with several describes an unknown number of machines.
    let single = drivers.len() == 1;
    let machines = drivers.into_iter().map(|(driver, gpus)| {
        let count = |count| single.then_some(count);
        let gpus = gpus.into_iter().map(|((name, capability, parts), number)| MachineGpu {
            name,
            count: count(number),
            parts,
            capability,
        });
        let build = MachineConfig { gpus: gpus.collect(), driver, ..MachineConfig::default() };
        InventoryMachine { name: name.to_owned(), nodes: count(1), build, ..InventoryMachine::default() }
    });
    Ok(Inventory { machines: machines.collect(), ..Inventory::default() })
}
