//! Archives of framework libraries in COPY and ADD, whose file names reveal the version and the CUDA build.

use crate::dockerfile::CopyInstruction;
use crate::extract::command_effects::observe_package;
use crate::extract::package_locations::PackageLocation;
use crate::extract::stage_files::{absolute_path, copied_path};
use crate::extract::target_reader::TargetReader;
use crate::install;
use crate::knowledge::Knowledge;
use crate::model::fact::Origin;

/// Whether a COPY or ADD has a framework archive as a source, from the build context or by URL.
pub(super) fn has_archive_source(copy: &CopyInstruction, knowledge: Knowledge) -> bool {
    let archive = |text: &str| install::is_framework_archive(text, knowledge);
    copy.from.is_none() && copy.sources.iter().any(|(source, _)| source.known_text().is_some_and(archive))
}

/// Adds the packages of the framework archives that a COPY or ADD names.
pub(super) fn add_archive_packages(reader: &mut TargetReader<'_>, copy: &CopyInstruction, knowledge: Knowledge) {
    if copy.from.is_some() {
        return;
    }
    for (source, span) in &copy.sources {
        let Some((text, install)) =
            source.known_text().and_then(|text| Some((text, install::parse_archive(text, *span, knowledge)?)))
        else {
            continue;
        };
        reader.seen.commands += 1;
        let origins = vec![Origin::File { source: reader.source, span: *span }];
        let package = observe_package(&mut reader.seen.facts, &install, origins, reader.seen.commands, knowledge);
        let name = text.rsplit('/').next().unwrap_or(text);
        let file = copied_path(&absolute_path("/", name), name, copy);
        let folder = copy.destination.as_ref().map(|destination| destination.path.clone());
        let places = file.into_iter().chain(folder).map(PackageLocation::Prefix);
        let places = places.chain(install::archive_folder(text, knowledge).map(PackageLocation::Named)).collect();
        reader.state.locations.set_package_locations(package.fact, places);
        reader.seen.packages.push(package);
    }
}
