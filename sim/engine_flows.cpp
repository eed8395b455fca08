#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "sim/engine_impl.hpp"

namespace rollcast {

s4u::Host* Engine::Impl::make_source() {
  return zone_->create_host("source " + std::to_string(sources_.size() + spare_sources_.size()), 1.0);
}

void Engine::Impl::connect(s4u::Host* source, std::vector<LinkClassId> const& links) {
  std::vector<s4u::LinkInRoute> way;
  way.reserve(links.size());
  for (LinkClassId const l : links) way.emplace_back(links_.at(std::size_t(l.value)));
  zone_->add_route(source->get_netpoint(), nullptr, nullptr, nullptr, way, false);
}

LinkClassId Engine::add_link(BytesPerSecond capacity) {
  if (!(capacity.value > 0)) throw std::logic_error("a link without capacity");
  if (impl_->ran_) throw std::logic_error("links are added before run()");
  auto const id = static_cast<std::int32_t>(impl_->links_.size());
  impl_->links_.push_back(impl_->zone_->create_link("link " + std::to_string(id), capacity.value));
  return {id};
}

RouteId Engine::route(std::vector<LinkClassId> links) {
  std::sort(links.begin(), links.end());
  if (links.empty()) throw std::logic_error("a route without links");
  if (std::adjacent_find(links.begin(), links.end()) != links.end())
    throw std::logic_error("a link twice in a route");
  if (links.front().value < 0 || std::size_t(links.back().value) >= impl_->links_.size())
    throw std::logic_error("no such link");
  auto const [it, is_new] = impl_->routes_.try_emplace(links);
  if (!is_new) return it->second;
  s4u::Host* source = nullptr;
  if (!impl_->ran_) {
    source = impl_->make_source();
  } else if (!impl_->spare_sources_.empty()) {
    source = impl_->spare_sources_.back();
    impl_->spare_sources_.pop_back();
  } else {
    impl_->routes_.erase(it);
    throw std::logic_error("no spare route left; reserve_routes() more before run()");
  }
  impl_->connect(source, links);
  it->second = RouteId{static_cast<std::int32_t>(impl_->sources_.size())};
  impl_->sources_.push_back(source);
  return it->second;
}

void Engine::reserve_routes(int spare) { impl_->spare_routes_ = spare; }

void Engine::set_capacity(LinkClassId link, BytesPerSecond capacity) {
  if (!(capacity.value > 0)) throw std::logic_error("a link without capacity");
  impl_->links_.at(std::size_t(link.value))->set_bandwidth(capacity.value);
}

void Engine::Impl::start(Flow& flow) {
  flow.comm = s4u::Comm::sendto_init(flow.source, sink_);
  flow.comm->set_payload_size(static_cast<std::uint64_t>(std::llround(flow.bytes.value)));
  flow.comm->set_data(&flow);
  flow.comm->start();
  ++given_activities.flows;
}

void Engine::Impl::finish(std::int64_t id) {
  auto const node = flows_.extract(id);
  if (node.empty()) return;
  for (ActorId const w : node.mapped()->waiters) {
    actor(w).woken = true;
    make_ready(w);
  }
  if (node.mapped()->comm != nullptr) node.mapped()->comm->set_data(nullptr);
  if (node.mapped()->done) node.mapped()->done();
}

FlowId Engine::flow(RouteId route, Bytes bytes, std::string name, std::function<void()> done) {
  if (!(bytes.value >= 0.5)) throw std::logic_error("a flow below one byte: " + name);
  auto flow = std::make_unique<Impl::Flow>();
  flow->id = impl_->next_flow_++;
  flow->name = std::move(name);
  flow->source = impl_->sources_.at(std::size_t(route.value));
  flow->bytes = bytes;
  flow->done = std::move(done);
  FlowId const id{flow->id};
  impl_->to_start_.push_back(flow->id);
  impl_->flows_.emplace(flow->id, std::move(flow));
  impl_->arm(now());
  return id;
}

FlowId Engine::flow(std::vector<LinkClassId> links, Bytes bytes, std::string name) {
  return flow(route(std::move(links)), bytes, std::move(name));
}

void Engine::cancel(FlowId flow) {
  auto const it = impl_->flows_.find(flow.value);
  if (it == impl_->flows_.end()) return;
  if (it->second->comm != nullptr) {
    it->second->comm->set_data(nullptr);
    impl_->to_cancel_.push_back(it->second->comm);
  }
  it->second->done = nullptr;
  impl_->finish(flow.value);
  impl_->arm(now());
}

bool Engine::is_done(FlowId flow) const {
  if (flow.value < 0 || flow.value >= impl_->next_flow_) throw std::logic_error("no such flow");
  return !impl_->flows_.contains(flow.value);
}

}  // namespace rollcast
