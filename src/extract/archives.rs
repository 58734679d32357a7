//! Archives of a framework's libraries that COPY and ADD bring: their names tell version and CUDA.

use crate::dockerfile::CopyInstruction;
use crate::extract::dockerfile::Reader;
use crate::extract::landing::Place;
use crate::extract::packaged::packaged;
use crate::extract::tree::absolute;
use crate::extract::tree::carried;
use crate::fact::Origin;
use crate::install;
use crate::knowledge::Knowledge;

/// Whether a COPY or ADD names one, from the context or by its address.
pub(super) fn named(copy: &CopyInstruction, knowledge: Knowledge) -> bool {
    let archive = |text: &str| install::is_archive(text, knowledge);
    copy.from.is_none() && copy.sources.iter().any(|(source, _)| source.known().is_some_and(archive))
}

/// Adds what is in those that a COPY or ADD names.
pub(super) fn bring(reader: &mut Reader<'_>, copy: &CopyInstruction, knowledge: Knowledge) {
    if copy.from.is_some() {
        return;
    }
    for (source, span) in &copy.sources {
        let Some((text, install)) =
            source.known().and_then(|text| Some((text, install::archive(text, *span, knowledge)?)))
        else {
            continue;
        };
        reader.seen.commands += 1;
        let origins = vec![Origin::File { source: reader.source, span: *span }];
        let package = packaged(&mut reader.seen.facts, &install, origins, reader.seen.commands, knowledge);
        let name = text.rsplit('/').next().unwrap_or(text);
        let file = carried(&absolute("/", name), name, copy);
        let destination = copy.destination.as_ref().and_then(|(path, _)| path.known());
        let folder = destination.map(|destination| absolute(&copy.folder, destination));
        let places = file.into_iter().chain(folder).map(Place::Prefix);
        let places = places.chain(install::archive_folder(text, knowledge).map(Place::Named)).collect();
        reader.done.lands.put(package.fact, places);
        reader.seen.packages.push(package);
    }
}
