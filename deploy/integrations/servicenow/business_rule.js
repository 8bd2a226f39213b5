(function executeRule(current, previous) {
  var priorities = { '1': 'CRITICAL', '2': 'HIGH', '3': 'MEDIUM', '4': 'LOW', '5': 'LOW' };
  var mission = {
    source: 'servicenow',
    externalId: String(current.getValue('number')),
    title: String(current.getValue('short_description') || current.getValue('number')).substring(0, 200),
    priority: priorities[String(current.getValue('priority'))] || 'MEDIUM',
    description: String(current.getValue('description') || '').substring(0, 10000),
    metadata: { sys_id: String(current.getUniqueValue()) }
  };
  var place = current.getDisplayValue('location');
  if (place) {
    mission.location = { name: String(place).substring(0, 200) };
  }
  var request = new sn_ws.RESTMessageV2();
  request.setHttpMethod('POST');
  request.setEndpoint(gs.getProperty('fieldmark.url') + '/api/public/v1/missions');
  request.setRequestHeader('Authorization', 'Bearer ' + gs.getProperty('fieldmark.key'));
  request.setRequestHeader('Content-Type', 'application/json');
  request.setHttpTimeout(20000);
  request.setRequestBody(JSON.stringify(mission));
  var response = request.execute();
  if (response.getStatusCode() != 200 && response.getStatusCode() != 201) {
    gs.error('Fieldmark: ' + response.getStatusCode() + ' ' + response.getBody());
    return;
  }
  current.setValue('correlation_id', JSON.parse(response.getBody()).id);
  current.setWorkflow(false);
  current.update();
})(current, previous);
