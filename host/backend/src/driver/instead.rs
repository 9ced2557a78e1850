//! A component that a command has put in the place of the configured one: from when, until when, and what is shown of it.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Driver, Previous, Source};
use crate::Component;
use crate::lifecycle::Ticket;
use drivebay_policy::{BackendConfig, ComponentSource};

impl Driver {
    /// Wants another component from now on, unless the command with this ticket is refused.
    pub(super) fn try_instead(&mut self, ticket: Ticket, path: PathBuf) {
        let (config, code) = match self.before.take() {
            Some(before) => (before.config, before.code),
            None => (Arc::clone(&self.config), self.code.clone()),
        };
        self.before = Some(Previous { ticket, config, code });
        let component = ComponentSource::File(path);
        self.config = Arc::new(BackendConfig { component, ..(*self.config).clone() });
        self.watch();
    }

    /// A command was answered: what it wanted stays, or what was wanted before it is watched again.
    pub(super) fn decided(&mut self, ticket: Ticket, is_done: bool) {
        let Some(before) = self.before.take_if(|before| before.ticket == ticket) else { return };
        if !is_done {
            self.config = before.config;
            self.code = before.code;
            self.watch();
        }
    }

    /// What the component holds, if that was rolled back.
    fn barred(&self) -> Option<&String> {
        self.code.as_ref().filter(|code| self.machine.memory().barred.contains(&self.recipe(code)))
    }

    /// Where new versions come from now.
    pub(super) fn source(&self) -> Source {
        let is_configured = self.config.component == self.configured.component;
        Source {
            component: self.config.component.clone(),
            configured: (!is_configured).then(|| self.configured.component.clone()),
            rolled_back: self.barred().cloned(),
        }
    }

    /// A component that a command named and that was rolled back is not meant any more: the configured file is, and is
    /// watched again.
    pub(super) async fn leave_barred(&mut self) {
        if self.config.component == self.configured.component || self.barred().is_none() {
            return;
        }
        self.config = Arc::clone(&self.configured);
        let read = Component::read(&self.config.component, self.environment.local).await;
        // What it holds is not offered: the operator has gone back to what serves.
        self.code = read.ok().map(|component| component.digest);
        self.watch();
    }
}
