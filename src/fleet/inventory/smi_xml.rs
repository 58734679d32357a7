//! Reads the output of `nvidia-smi -q -x`: a machine with all its GPUs, or several machines one after the other.

use quick_xml::Reader;
use quick_xml::events::Event;

use crate::fleet::inventory::{
    GpuPartitioning, Inventory, InventoryError, InventoryMachine, MachineConfig, MachineGpu,
};

/// The largest nesting depth of elements.
const MAX_DEPTH: usize = 64;
/// The largest number of GPUs in one machine.
const MAX_GPUS: usize = 1024;
/// The largest length of a value.
const MAX_TEXT_LENGTH: usize = 256;

const ROOT_ELEMENT: &str = "nvidia_smi_log";
/// Windows driver models with which WSL can use the GPU; Linux has none.
const WINDOWS_DRIVER_MODELS: [&str; 2] = ["WDDM", "MCDM"];

/// One GPU in the output.
#[derive(Default)]
struct SmiGpu {
    name: String,
    /// Whether MIG is enabled, if the log contains it.
    mig: Option<bool>,
    virtual_gpu: bool,
    /// A display driver of Windows.
    windows: bool,
}

/// One machine in the output.
#[derive(Default)]
struct SmiLog {
    driver: String,
    cuda: String,
    gpus: Vec<SmiGpu>,
}

impl SmiLog {
    /// Stores the text of an element.
    fn set_value(&mut self, path: &[String], text: &str) {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        match path.as_slice() {
            [ROOT_ELEMENT, "driver_version"] => text.clone_into(&mut self.driver),
            [ROOT_ELEMENT, "cuda_version"] => text.clone_into(&mut self.cuda),
            [ROOT_ELEMENT, "gpu", rest @ ..] => {
                let Some(gpu) = self.gpus.last_mut() else { return };
                match rest {
                    ["product_name"] => text.clone_into(&mut gpu.name),
                    ["driver_model", "current_dm"] => gpu.windows = WINDOWS_DRIVER_MODELS.contains(&text),
                    ["mig_mode", "current_mig"] => gpu.mig = Some(text == "Enabled"),
                    ["gpu_virtualization_mode", "virtualization_mode"] => gpu.virtual_gpu = text == "VGPU",
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

/// Reads the output; `name` is the name of the file.
pub(super) fn read_smi_xml(name: &str, text: &str) -> Result<Inventory, InventoryError> {
    let mut reader = Reader::from_str(text);
    let mut path: Vec<String> = Vec::new();
    let (mut log, mut logs) = (SmiLog::default(), Vec::new());
    let mut element_text = String::new();
    loop {
        let bad = |reader: &Reader<&[u8]>, message: &str| {
            let at = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX).min(text.len());
            let line = text.get(..at).map_or(1, |before| before.matches('\n').count() + 1);
            InventoryError::Unreadable(format!("line {line}: {message}"))
        };
        let event = reader.read_event();
        let event = event.map_err(|error| bad(&reader, &format!("broken XML: {error}")))?;
        match event {
            Event::Start(element) => {
                path.push(element.name().as_ref().to_owned());
                element_text.clear();
                match path.as_slice() {
                    [root] if root != ROOT_ELEMENT => {
                        return Err(bad(&reader, &format!("`{root}` is not the root of nvidia-smi output")));
                    }
                    [_, gpu] if gpu == "gpu" => log.gpus.push(SmiGpu::default()),
                    _ => {}
                }
                if path.len() > MAX_DEPTH || log.gpus.len() > MAX_GPUS {
                    return Err(InventoryError::TooBig);
                }
            }
            // No value that counts is so long.
            Event::Text(_) | Event::GeneralRef(_) if element_text.len() > MAX_TEXT_LENGTH => {}
            Event::Text(part) => element_text.extend(part.xml10_content().chars().take(MAX_TEXT_LENGTH)),
            Event::GeneralRef(part) => match part.resolve_char_ref() {
                Ok(Some(sign)) => element_text.push(sign),
                Ok(None) => match quick_xml::escape::resolve_predefined_entity(&part.xml10_content()) {
                    Some(sign) => element_text.push_str(sign),
                    None => return Err(bad(&reader, "unexpected entity in nvidia-smi output")),
                },
                Err(error) => return Err(bad(&reader, &format!("broken XML: {error}"))),
            },
            Event::End(_) => {
                log.set_value(&path, element_text.trim());
                element_text.clear();
                path.pop();
                if path.is_empty() {
                    logs.push(std::mem::take(&mut log));
                }
            }
            Event::Eof if path.is_empty() => break,
            Event::Eof => return Err(bad(&reader, "the file ends too early")),
            _ => {}
        }
    }
    if logs.is_empty() {
        return Err(InventoryError::Unreadable("it lists no GPU".to_owned()));
    }
    let single = logs.len() == 1;
    let named = |at: usize| if single { name.to_owned() } else { format!("{name}#{}", at + 1) };
    let machines = logs.into_iter().enumerate().map(|(at, log)| machine_from_log(named(at), log));
    Ok(Inventory { machines: machines.collect::<Result<_, _>>()?, ..Inventory::default() })
}

/// Returns the machine for one complete output.
fn machine_from_log(name: String, log: SmiLog) -> Result<InventoryMachine, InventoryError> {
    if log.gpus.is_empty() {
        return Err(InventoryError::Unreadable("it lists no GPU".to_owned()));
    }
    let mut build = MachineConfig::default();
    if !log.driver.is_empty() && log.driver != "N/A" {
        let driver =
            log.driver.parse().map_err(|error| InventoryError::Unreadable(format!("driver_version: {error}")))?;
        build.driver = Some(driver);
    }
    build.cuda = log.cuda.parse().ok();
    if log.gpus.iter().any(|gpu| gpu.virtual_gpu) {
        build.notes.insert("these are virtual GPUs".to_owned());
    }
    build.wsl = log.gpus.iter().any(|gpu| gpu.windows);
    if build.wsl {
        build.notes.insert("the driver is a Windows driver: Linux containers use its GPUs through WSL 2".to_owned());
    }
    let mut gpus: Vec<MachineGpu> = Vec::new();
    for seen in log.gpus {
        let parts = seen.mig.map_or(GpuPartitioning::Unknown, GpuPartitioning::from_mig_mode);
        match gpus.iter_mut().find(|gpu| gpu.name == seen.name && gpu.parts == parts) {
            Some(gpu) => gpu.count = gpu.count.map(|count| count + 1),
            None => gpus.push(MachineGpu { name: seen.name, count: Some(1), parts, capability: None }),
        }
    }
    if gpus.iter().any(|gpu| gpu.name.is_empty()) {
        return Err(InventoryError::Unreadable("a GPU without `product_name`".to_owned()));
    }
    gpus.sort();
    build.gpus = gpus;
    Ok(InventoryMachine { name, nodes: Some(1), build, ..InventoryMachine::default() })
}
