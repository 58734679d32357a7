//! What `nvidia-smi -q -x` prints: a machine with all its GPUs; one behind the other, several machines.

use quick_xml::Reader;
use quick_xml::events::Event;

use crate::inventory::Build;
use crate::inventory::Gpu;
use crate::inventory::Inventory;
use crate::inventory::InventoryError;
use crate::inventory::Machine;
use crate::inventory::Parts;

/// Elements lie no deeper.
const DEEPEST: usize = 64;
/// No machine has more GPUs.
const MOST_GPUS: usize = 1024;
/// No value that counts is longer.
const LONGEST_TEXT: usize = 256;

const ROOT: &str = "nvidia_smi_log";
/// Driver models of Windows under which its subsystem for Linux has the GPU; elsewhere there is none.
const WINDOWS: [&str; 2] = ["WDDM", "MCDM"];

/// One GPU as far as it was read.
#[derive(Default)]
struct Seen {
    name: String,
    /// Whether MIG divides it, where the log says it.
    mig: Option<bool>,
    virtual_gpu: bool,
    /// A display driver of Windows.
    windows: bool,
}

/// The machine as far as it was read.
#[derive(Default)]
struct Log {
    driver: String,
    cuda: String,
    gpus: Vec<Seen>,
}

impl Log {
    /// Takes the text of an element.
    fn take(&mut self, path: &[String], text: &str) {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        match path.as_slice() {
            [ROOT, "driver_version"] => text.clone_into(&mut self.driver),
            [ROOT, "cuda_version"] => text.clone_into(&mut self.cuda),
            [ROOT, "gpu", rest @ ..] => {
                let Some(gpu) = self.gpus.last_mut() else { return };
                match rest {
                    ["product_name"] => text.clone_into(&mut gpu.name),
                    ["driver_model", "current_dm"] => gpu.windows = WINDOWS.contains(&text),
                    ["mig_mode", "current_mig"] => gpu.mig = Some(text == "Enabled"),
                    ["gpu_virtualization_mode", "virtualization_mode"] => gpu.virtual_gpu = text == "VGPU",
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

/// Reads the log; `name` is what the file is called.
pub(super) fn read(name: &str, text: &str) -> Result<Inventory, InventoryError> {
    let mut reader = Reader::from_str(text);
    let mut path: Vec<String> = Vec::new();
    let (mut log, mut logs) = (Log::default(), Vec::new());
    let mut told = String::new();
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
                told.clear();
                match path.as_slice() {
                    [root] if root != ROOT => {
                        return Err(bad(&reader, &format!("`{root}` is not the root of nvidia-smi output")));
                    }
                    [_, gpu] if gpu == "gpu" => log.gpus.push(Seen::default()),
                    _ => {}
                }
                if path.len() > DEEPEST || log.gpus.len() > MOST_GPUS {
                    return Err(InventoryError::TooBig);
                }
            }
            // No value that counts is so long.
            Event::Text(_) | Event::GeneralRef(_) if told.len() > LONGEST_TEXT => {}
            Event::Text(part) => told.extend(part.xml10_content().chars().take(LONGEST_TEXT)),
            Event::GeneralRef(part) => match part.resolve_char_ref() {
                Ok(Some(sign)) => told.push(sign),
                Ok(None) => match quick_xml::escape::resolve_predefined_entity(&part.xml10_content()) {
                    Some(sign) => told.push_str(sign),
                    None => return Err(bad(&reader, "unexpected entity in nvidia-smi output")),
                },
                Err(error) => return Err(bad(&reader, &format!("broken XML: {error}"))),
            },
            Event::End(_) => {
                log.take(&path, told.trim());
                told.clear();
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
    let machines = logs.into_iter().enumerate().map(|(at, log)| machine(named(at), log));
    Ok(Inventory { machines: machines.collect::<Result<_, _>>()?, ..Inventory::default() })
}

fn machine(name: String, log: Log) -> Result<Machine, InventoryError> {
    if log.gpus.is_empty() {
        return Err(InventoryError::Unreadable("it lists no GPU".to_owned()));
    }
    let mut build = Build::default();
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
    let mut gpus: Vec<Gpu> = Vec::new();
    for seen in log.gpus {
        let parts = seen.mig.map_or(Parts::Untold, Parts::known);
        match gpus.iter_mut().find(|gpu| gpu.name == seen.name && gpu.parts == parts) {
            Some(gpu) => gpu.count = gpu.count.map(|count| count + 1),
            None => gpus.push(Gpu { name: seen.name, count: Some(1), parts, capability: None }),
        }
    }
    if gpus.iter().any(|gpu| gpu.name.is_empty()) {
        return Err(InventoryError::Unreadable("a GPU without `product_name`".to_owned()));
    }
    gpus.sort();
    build.gpus = gpus;
    Ok(Machine { name, nodes: Some(1), build, ..Machine::default() })
}
