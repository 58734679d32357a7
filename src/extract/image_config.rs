//! Observations from the configuration of an image, as read from a registry or an image layout.

use crate::extract::{history, start_commands};
use crate::knowledge::Knowledge;
use crate::model::fact::{Evidence, FactKey, InspectionDepth, Observations, Origin, PrintedValue, ValueState};
use crate::registry::PulledImage;

/// Reads the configuration of one image, with the packages that its history installs.
pub fn observe_config(image: &PulledImage) -> Observations {
    let mut seen = observe_config_without_history(image, InspectionDepth::Config);
    history::read_history_installs(image, &mut seen, Knowledge::built_in(), |_| true);
    seen
}

/// Reads the configuration of an image, without the commands of its history.
pub(super) fn observe_config_without_history(image: &PulledImage, depth: InspectionDepth) -> Observations {
    let mut seen = Observations::new(depth);
    let origin = |field: String| Evidence::Leaf(vec![Origin::Config { digest: image.config_digest.clone(), field }]);
    for (name, value) in &image.config.env {
        let state = ValueState::Known(PrintedValue::Text(value.clone()));
        let fact = seen.facts.add(FactKey::Env, Some(name), state, origin(format!("config.Env[{name}]")));
        seen.env.insert(name.clone(), (Ok(value.clone()), fact));
    }
    seen.complete.env = true;
    // CMD is the program itself if the entrypoint is a wrapper or missing.
    let words: Vec<String> = image.config.entrypoint.iter().chain(&image.config.cmd).cloned().collect();
    let state = ValueState::Known(PrintedValue::from(&words));
    let fact = seen.facts.add(FactKey::Entrypoint, None, state, origin("config.Entrypoint".to_owned()));
    seen.base_changes.starts = Some((start_commands::commands_of_argv(&words), fact));
    seen.entrypoint = Some((words, fact));
    let mut platforms: Vec<String> = image.platforms.iter().map(ToString::to_string).collect();
    if platforms.is_empty() {
        platforms.push(image.config.platform.to_string());
    }
    let fact = seen.facts.add(
        FactKey::Platforms,
        None,
        ValueState::Known(PrintedValue::from(&platforms)),
        origin("architecture".to_owned()),
    );
    seen.platforms = Some((platforms, fact));
    seen
}
