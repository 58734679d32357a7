//! The workloads of a cluster: which images they run, and on which pools.

use std::collections::BTreeMap;
use std::path::Path;

use crate::cli::Failure;
use crate::cli::names;
use crate::cluster;
use crate::cluster::Workload;
use crate::extract;
use crate::fleet::Fleet;
use crate::judge;
use crate::judge::Content;
use crate::judge::Only;
use crate::judge::Subject;
use crate::report::model::InputError;

/// How the option is called that names the file.
const OPTION: &str = "--from-kubernetes";

/// An image, and the workloads that run it; none where it is asked about by itself.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) name: String,
    pub(crate) workloads: Vec<Workload>,
}

/// A subject, or why there is none.
pub(crate) type Looked = Result<Subject, Box<InputError>>;

impl Asked {
    /// An image by itself.
    pub(crate) fn image(name: String) -> Self {
        Self { name, workloads: Vec::new() }
    }

    /// The image as each workload runs it.
    pub(crate) fn placed(&self, subject: Subject, fleet: &Fleet) -> Vec<Looked> {
        if self.workloads.is_empty() {
            return vec![Ok(subject)];
        }
        self.workloads.iter().map(|workload| placed(&subject, workload, fleet)).collect()
    }
}

/// What a file of workloads asks about, by image; and what of it could not be followed.
pub(crate) fn read(path: &Path, password: bool) -> Result<(Vec<Asked>, Vec<InputError>), Failure> {
    let text = names::text(path, password, cluster::LONGEST as u64)?;
    let found = cluster::workloads(&text)
        .map_err(|error| Failure::Said(format!("error: cannot read {}: {error}", path.display())))?;
    let mut images: BTreeMap<String, Vec<Workload>> = BTreeMap::new();
    for workload in found.list {
        images.entry(workload.image.clone()).or_default().push(workload);
    }
    let error = |message| InputError { input: path.display().to_string(), message, location: None };
    let errors = found.notes.into_iter().map(error).collect();
    Ok((images.into_iter().map(|(name, workloads)| Asked { name, workloads }).collect(), errors))
}

fn placed(subject: &Subject, workload: &Workload, fleet: &Fleet) -> Looked {
    let name = format!("{} ({})", subject.name, workload.name);
    let mut placed = Subject { name, only: Some(Only::Nodes(workload.nodes.clone())), ..subject.clone() };
    if let Some(error) = unplaced(&placed, fleet) {
        return Err(Box::new(error));
    }
    if let Content::ByPlatform(list) = &mut placed.content {
        for (_, seen) in list {
            extract::set_at_run_time(seen, &workload.env, workload.env_from, OPTION);
        }
    }
    Ok(placed)
}

/// That no pool has the labels that a subject asks for.
pub(crate) fn unplaced(subject: &Subject, fleet: &Fleet) -> Option<InputError> {
    let message = "no pool of the fleet has the labels that it asks for".to_owned();
    let nowhere = matches!(subject.only, Some(Only::Nodes(_)))
        && !fleet.pools.iter().any(|pool| judge::fits(subject, pool, fleet));
    nowhere.then(|| InputError { input: subject.name.clone(), message, location: None })
}
